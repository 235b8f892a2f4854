"""From what a user wrote to the facts that are judged: spellings, defaults with their ground, and what is wrong."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.matrix.model import Engine, Matrix
from compatcheck.matrix.older_gpus import OLDER_GPUS
from compatcheck.matrix.sm import find_gpu, parse_sm
from compatcheck.matrix.versions import InvalidVersion, beyond, parse, place, public
from compatcheck.resolve.configuration import (
    DEFAULTS,
    LINEAR_DEFAULTS,
    LINEAR_FIELDS,
    VERSION_FIELDS,
    Configuration,
    spell_dtype,
)
from compatcheck.resolve.linear_names import check_linear_names, spell_linear
from compatcheck.resolve.model_settings import set_for_model
from compatcheck.resolve.verdict import Assumption

ATTN_TYPES = ("decoder", "encoder", "encoder_only", "encoder_decoder")
CUDAGRAPH_MODES = ("NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
"""vllm/config/compilation.py:CUDAGraphMode@0.33.0."""
FLASH_ATTN_VERSIONS = (2, 3, 4)
"""What the option takes (vllm/config/attention.py:AttentionConfig.flash_attn_version@0.33.0)."""
DTYPES = ("bfloat16", "float16", "float32")
KV_SPELLINGS = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp8_e4m3fn": "fp8_e4m3"}
COMPRESSED = "deepseek_v4"
"""The family with compression ratios (V4.1 has them too); its layers take a backend of their own."""
LEAST = dict.fromkeys(
    (
        "head_size",
        "block_size",
        "num_qo_heads",
        "num_kv_heads",
        "in_features",
        "out_features",
        "kv_lora_rank",
        "v_head_dim",
        "index_topk",
        "sliding_window",
        "flash_attn_version",
    ),
    1,
) | dict.fromkeys(("qk_nope_head_dim", "qk_rope_head_dim"), 0)
"""Integer fields -> smallest value. A model without a rotary or an unrotated part has 0 there."""


class ConfigurationError(ValueError):
    """A configuration that cannot be judged; `problems` says what is wrong with which field."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field}: {text}" for field, text in problems))
        self.problems = problems

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


def nearest(name: str, known: list[str]) -> str:
    """Return ' Did you mean X?' where a known name is near, else an empty string."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


class Normalised(msgspec.Struct, frozen=True, kw_only=True):
    """The facts, where each came from, and which release answers."""

    facts: Configuration
    release: str
    answered_as: str | None
    assumed: tuple[Assumption, ...]
    beyond: str | None = None
    """A version that is nothing like the ones in the matrix, or an older GPU, and why that leaves everything open."""


def normalise(matrix: Matrix, given: Configuration) -> Normalised:
    """Return the facts of a configuration, spelled as the matrix spells them, defaults filled in.

    Raises `ConfigurationError` with every problem: an SM that does not exist, a version that is not PEP 440, a
    backend, dtype or KV-cache dtype that no release of the engine knows.
    """
    problems: list[tuple[str, str]] = []
    values: dict[str, Any] = {f: v for f, v in msgspec.structs.asdict(given).items() if v is not None}
    assumed: list[Assumption] = []

    _spell(matrix, values, problems)
    engine_name = str(values.get("engine", "vllm")).lower()
    engine = matrix.engines.get(engine_name)
    if engine is None:
        problems.append(("engine", f"{engine_name!r} is not in the matrix; it has: {', '.join(matrix.engines)}"))
        raise ConfigurationError(problems)
    if "engine" in values:
        values["engine"] = engine_name
    _known_names(matrix, engine, values, problems)
    if "linear" in values or LINEAR_FIELDS & values.keys():
        problems += check_linear_names(engine, values)
    if problems:
        raise ConfigurationError(problems)

    beyond = _beyond(matrix, engine, values)
    release, answered_as = _release(engine, values, assumed)
    _fill_pins(engine, release, values, assumed)
    answered_as = _library(matrix, values, answered_as)
    _fill_mla(values, assumed)
    if lacks_family(values):
        values["model_type"] = COMPRESSED
        assumed.append(Assumption("model_type", COMPRESSED, "compress_ratios is given"))
    if "dtype" not in values:
        instead = dtype_on(matrix, values.get("sm"), DEFAULTS["dtype"][0])
        if instead != DEFAULTS["dtype"][0]:
            values["dtype"] = instead
            ground = f"what the engine makes of a bfloat16 model on SM {values['sm']}"
            assumed.append(Assumption("dtype", instead, ground))
    for field, (value, ground) in (LINEAR_DEFAULTS if "linear" in values else DEFAULTS).items():
        if field not in values:
            values[field] = value
            assumed.append(Assumption(field, value, ground))
    if "linear" not in values:
        set_for_model(matrix, engine, release, values, assumed)
    return Normalised(
        facts=Configuration(**values),
        release=release,
        answered_as=answered_as,
        assumed=tuple(assumed),
        beyond=beyond,
    )


def lacks_family(values: dict[str, Any]) -> bool:
    """Return whether it is the compression ratios that tell which model this is, and with it the backend."""
    return bool(values.get("compress_ratios")) and "model_type" not in values and "backend" not in values


def dtype_on(matrix: Matrix, sm: object, dtype: str) -> str:
    """Return the dtype that a model of this dtype gets on an SM where no dtype is asked for."""
    entry = matrix.sms.get(str(sm))
    return (entry.instead_of_bfloat16 or dtype) if entry and dtype == "bfloat16" else dtype


def _spell(matrix: Matrix, values: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    if "sm" in values:
        written = values["sm"]
        gpus = {**OLDER_GPUS, **{sm: entry.gpus for sm, entry in matrix.sms.items()}}
        sm = parse_sm(written) or find_gpu(str(written), gpus)
        if sm in gpus:
            values["sm"] = sm
        else:
            known = ", ".join(matrix.sms)
            problems.append(
                (
                    "sm",
                    f"{written!r} is neither a compute capability nor a GPU of the matrix; it knows {known}",
                )
            )
    for field in VERSION_FIELDS & values.keys():
        try:
            values[field] = public(str(values[field]).removeprefix("v"))
        except InvalidVersion:
            problems.append((field, f"{values[field]!r} is not a PEP 440 version such as 0.33.0"))
    if "dtype" in values:
        values["dtype"] = spell_dtype(values["dtype"])
        if values["dtype"] == "auto":
            del values["dtype"]
        elif values["dtype"] not in DTYPES:
            problems.append(("dtype", f"{values['dtype']!r} is not one of {', '.join(DTYPES)}"))
    if "kv_cache_dtype" in values:
        text = values["kv_cache_dtype"].removeprefix("torch.").lower()
        values["kv_cache_dtype"] = KV_SPELLINGS.get(text, text)
    for field in {"backend", "mla_prefill_backend"} & values.keys():
        values[field] = values[field].upper()
    if "attn_type" in values:
        values["attn_type"] = values["attn_type"].lower()
    if "attn_type" in values and values["attn_type"] not in ATTN_TYPES:
        problems.append(("attn_type", f"{values['attn_type']!r} is not one of {', '.join(ATTN_TYPES)}"))
    if "cudagraph_mode" in values:
        values["cudagraph_mode"] = values["cudagraph_mode"].upper()
        if values["cudagraph_mode"] not in CUDAGRAPH_MODES:
            known = ", ".join(CUDAGRAPH_MODES)
            problems.append(("cudagraph_mode", f"{values['cudagraph_mode']!r} is not one of {known}"))
    spell_linear(values)
    if values.get("sliding_window") in (False, 0):
        del values["sliding_window"]
    if values.get("flash_attn_version") not in (None, *FLASH_ATTN_VERSIONS):
        problems.append(("flash_attn_version", f"{values['flash_attn_version']} is not one of 2, 3, 4"))
    problems += [
        (field, f"must be {'positive' if least else 'at least 0'} and below 2^31, found {values[field]}")
        for field, least in LEAST.items()
        if field in values and not least <= values[field] < 2**31
    ]


def _known_names(matrix: Matrix, engine: Engine, values: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    backend, kv = values.get("backend"), values.get("kv_cache_dtype")
    others = engine.other_backends | engine.plugin_backends
    if backend in others:
        what = others[backend]
        problems.append(("backend", f"{backend} is {what}; the matrix covers {engine.title}'s CUDA backends only"))
    elif backend is not None and backend not in engine.backends:
        known = list(engine.backends)
        problems.append(("backend", f"no release of {engine.title} has a backend {backend}.{nearest(backend, known)}"))
    prefill = values.get("mla_prefill_backend")
    if prefill in engine.other_mla_prefill_backends:
        what = engine.other_mla_prefill_backends[prefill]
        said = f"{prefill} is {what}; the matrix covers {engine.title}'s CUDA backends only"
        problems.append(("mla_prefill_backend", said))
    elif prefill is not None and prefill not in engine.mla_prefill_backends:
        known = list(engine.mla_prefill_backends)
        said = f"no release of {engine.title} has an MLA prefill backend {prefill}.{nearest(prefill, known)}"
        problems.append(("mla_prefill_backend", f"{said} Known: {', '.join(known)}"))
    if kv is not None and kv not in matrix.kv_cache_dtypes:
        known = list(matrix.kv_cache_dtypes)
        problems.append(
            (
                "kv_cache_dtype",
                f"no release of {engine.title} knows {kv!r}.{nearest(kv, known)} Known: {', '.join(known)}",
            )
        )


def _release(engine: Engine, values: dict[str, Any], assumed: list[Assumption]) -> tuple[str, str | None]:
    releases = tuple(sorted(engine.releases, key=parse))
    if "engine_version" not in values:
        values["engine_version"] = releases[-1]
        assumed.append(Assumption("engine_version", releases[-1], "the newest release in the matrix"))
        return releases[-1], None
    release, why = place(values["engine_version"], releases)
    return release, f"answered as {engine.title} {release}: {why}" if why else None


def _beyond(matrix: Matrix, engine: Engine, values: dict[str, Any]) -> str | None:
    """Return what is to be said of an SM older than every SM of the matrix, or of a version far from every release."""
    if "sm" in values and values["sm"] not in matrix.sms:
        return f"SM {values['sm']} is not covered; the matrix knows SM {', '.join(matrix.sms)}"
    flashinfer = matrix.libraries.get("flashinfer")
    known = {"engine_version": (engine.title, sorted(engine.releases, key=parse))}
    if flashinfer is not None:
        known["flashinfer_version"] = ("FlashInfer", sorted(flashinfer.releases, key=parse))
    for field, (title, releases) in known.items():
        if field in values and beyond(values[field], tuple(releases)):
            return f"the matrix knows {title} {releases[0]} to {releases[-1]}, and nothing of {values[field]}"
    return None


def _library(matrix: Matrix, values: dict[str, Any], answered_as: str | None) -> str | None:
    """Add a remark on a FlashInfer that is not in the matrix; nightlies of a known release fall into its ranges."""
    library = matrix.libraries.get("flashinfer")
    version = values.get("flashinfer_version")
    if library is None or version is None:
        return answered_as
    release, why = place(version, tuple(sorted(library.releases, key=parse)))
    if why is None or (parse(version).is_prerelease and parse(version).base_version == parse(release).base_version):
        return answered_as
    remark = f"answered as FlashInfer {release}: {why}"
    return f"{answered_as}; {remark}" if answered_as else remark


def _fill_pins(engine: Engine, release: str, values: dict[str, Any], assumed: list[Assumption]) -> None:
    pins = engine.releases[release]
    required, built = (f"what {engine.title} {release} {verb}" for verb in ("requires", "is built with"))
    for field, value, ground in (
        ("flashinfer_version", pins.flashinfer, required),
        ("torch_version", pins.torch, required),
        ("cuda_version", pins.cuda, built),
    ):
        if field == "flashinfer_version" and values.get("has_flashinfer") is False:
            continue  # what is not installed has no version, whatever the engine pins
        if field not in values and value is not None:
            values[field] = value
            assumed.append(Assumption(field, value, ground))


def _fill_mla(values: dict[str, Any], assumed: list[Assumption]) -> None:
    """A model with a KV latent rank is MLA, and its cached head is the latent with the rotary part."""
    if "use_mla" not in values and "kv_lora_rank" in values:
        values["use_mla"] = True
        assumed.append(Assumption("use_mla", True, "kv_lora_rank is given"))
    if (
        values.get("use_mla")
        and "head_size" not in values
        and "kv_lora_rank" in values
        and "qk_rope_head_dim" in values
    ):
        values["head_size"] = values["kv_lora_rank"] + values["qk_rope_head_dim"]
        assumed.append(Assumption("head_size", values["head_size"], "kv_lora_rank + qk_rope_head_dim"))
