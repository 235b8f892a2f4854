"""The model of a launch: its configuration, what tensor parallelism leaves on a rank, and the cache it asks for."""

from __future__ import annotations

from typing import Any

from compatcheck.launch import findings
from compatcheck.launch.architectures import not_implemented
from compatcheck.launch.checkpoint import quantization_of, refused_scheme, scheme_overrides
from compatcheck.launch.context_parallel import gqa_finding, sizes_finding
from compatcheck.launch.environment import EnvironmentFacts
from compatcheck.launch.flag_table import FlagTable, takes_keyword
from compatcheck.launch.layer_kinds import NO_CACHE
from compatcheck.launch.model import Launch, Layer, Placed, Report
from compatcheck.launch.model_config import ModelFacts, read_model, text_config
from compatcheck.launch.model_memory import ModelMemory
from compatcheck.launch.model_source import ModelError, ModelSource, odd_size
from compatcheck.launch.option_facts import OptionFacts
from compatcheck.launch.widths import open_widths, width_finding
from compatcheck.matrix.model import Matrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Assumption, Finding, FindingSource


class ModelReader:
    """Reads the model of one launch; afterwards the lists say what was taken and what is wrong."""

    def __init__(
        self,
        matrix: Matrix,
        launch: Launch,
        flags: FlagTable,
        given: Configuration,
        options: OptionFacts,
        environment: EnvironmentFacts,
        memory: ModelMemory,
    ) -> None:
        self.matrix = matrix
        self.launch = launch
        self.flags = flags
        self.given = given
        self.options = options
        self.environment = environment
        self.memory = memory
        self.fields: dict[str, Any] = {}
        self.config: dict[str, Any] | None = None
        self.assumed: list[Assumption] = []
        self.findings: list[Placed] = []
        self.reports: list[Report] = []
        self.missing: list[str] = []
        self.unreadable: list[ModelError] = []
        self.exact = False
        self.known = False
        """Whether a configuration was found that says what the model's layers are."""
        self.attention_free = False

    def read(self, name: str | None) -> tuple[Layer, ...]:
        """Return the kinds of layers, and keep the model's fields."""
        source = self._source(name)
        if source is None:
            self._shard({}, name)
            return (Layer(kind="attention"),)
        config = self.config = _merged(source.config, self.options.hf_overrides)
        self.exact = source.exact
        odd = odd_size(config)
        if odd is not None:
            self._open("--hf-overrides", odd[1], f"a usable {odd[0].rsplit('.', 1)[-1]}")
            self._shard({}, name)
            return (Layer(kind="attention"),)
        self.known = True
        facts = read_model(
            self.matrix,
            self.flags.release,
            config,
            mla_disabled=self.environment.mla_disabled,
            text_only=self.options.text_only,
            mm_limits=self.options.mm_limits,
            sliding_window_disabled=self.options.sliding_window_disabled,
        )
        self.assumed.append(Assumption("model", name, source.origin))
        own = {f: v for f, v in {**facts.facts, **source.facts}.items() if v is not None and (f not in _SIZES or v)}
        if source.facts.get("use_mla"):
            own.pop("head_size", None)
        self.attention_free = bool(facts.layers) and all(layer.kind in NO_CACHE for layer in facts.layers)
        self._shard(own, name)
        self.fields = own
        quantization = quantization_of(config, text_config(config)) or {}
        self._method(own.get("weight_quantization") or quantization.get("quant_method"))
        self._cache_dtype(facts, config, source)
        self.missing += [text for text in facts.missing if not self._stated(text)]
        absent = not_implemented(config, self.flags.release)
        self.missing += [absent] if absent else []
        if self.environment.mla_disabled and text_config(config).get("index_topk") is not None:
            self._sparse_without_mla(name, text_config(config))
        if source.layers:
            return tuple(Layer(kind=kind, count=count) for kind, count in source.layers)
        return tuple(self._on_a_rank(layer, counted=source.counted) for layer in facts.layers)

    def _on_a_rank(self, layer: Layer, *, counted: bool) -> Layer:
        """Return a kind of layers with its own KV heads as one rank holds them."""
        own, heads = dict(layer.facts), layer.facts.get("num_kv_heads")
        if isinstance(heads, int) and self.options.tensor_parallel > 1:
            own["num_kv_heads"] = max(1, heads // self.options.tensor_parallel)
        return Layer(kind=layer.kind, count=layer.count if counted else None, facts=own)

    def _stated(self, missing: str) -> bool:
        """Return whether the user states the field that a missing fact names in brackets."""
        field = missing.rpartition("(")[2].rstrip(")")
        return getattr(self.given, field, None) is not None

    def _sparse_without_mla(self, name: str | None, text: dict[str, Any]) -> None:
        """Find VLLM_MLA_DISABLE for a model whose indexer needs MLA."""
        if text.get("model_type") not in _SPARSE_MLA:
            return
        finding = findings.make(
            "launch-sparse-needs-mla",
            "The model's sparse attention needs MLA",
            f"VLLM_MLA_DISABLE is set and {name} has an indexer (index_topk): only its MLA layers take one.",
            effect="unsupported",
            bites="init",
            fix="Remove VLLM_MLA_DISABLE.",
            exception="AssertionError",
            source=FindingSource("vllm/model_executor/models/deepseek_v2.py:DeepseekV2Attention.__init__@0.33.0"),
        )
        self._place_at("use_mla", finding)

    def _source(self, name: str | None) -> ModelSource | None:
        for candidate in (self.options.hf_config_path, name):
            if candidate is None:
                continue
            try:
                source = self.memory.find(candidate, self.launch.directory)
            except ModelError as error:
                self._unreadable(error)
                return None
            if source is None and candidate == self.options.hf_config_path:
                why = "nothing is there, or it is elsewhere"
                self._open("--hf-config-path", why, f"the configuration in {candidate}")
            if source is not None:
                for problem in source.problems:
                    self._unreadable(problem)
                return source
        return None

    def _unreadable(self, error: ModelError) -> None:
        self.unreadable.append(error)
        finding = findings.make(
            "launch-model-unreadable",
            "The model's configuration cannot be read",
            str(error),
            effect="note",
            fix="Give --model a folder with readable JSON files, or state the facts as options.",
        )
        self.findings.append(Placed(finding, self.launch.line, self.launch.column))
        self._open(error.file, str(error), f"what {error.file} says")

    def _open(self, name: str, why: str, missing: str | None) -> None:
        line, column = self.launch.line, self.launch.column
        self.reports.append(Report(name=name, status="unknown", why=why, line=line, column=column, missing=missing))

    def _method(self, method: object) -> None:
        """Say where the checkpoint names a quantisation method that the release does not list."""
        name = str(method or "").lower().replace("compressed_tensors", "compressed-tensors")
        if not name or name in _READ_AS_OTHERS or takes_keyword("QuantizationMethods", name, self.flags.release):
            return
        self._open(
            "quant_method", f"vLLM {self.flags.release} lists no method {name}", f"whether quant_method {name} is read"
        )

    def _place_at(self, field: str, finding: Finding) -> None:
        line, column = self.options.places.get(field, (self.launch.line, self.launch.column))
        self.findings.append(Placed(finding, line, column))

    def _shard(self, own: dict[str, Any], name: str | None) -> None:
        """Turn head counts of the model into those of one rank, as the selector and the kernels see them.

        KV heads are repeated where there are fewer than ranks (vllm/config/model.py:ModelConfig.get_num_kv_heads).
        """
        if self.attention_free:
            return
        ranks, dcp = self.options.tensor_parallel, self.options.decode_context_parallel
        stated = self.given.num_qo_heads is not None
        heads = self.given.num_qo_heads if stated else own.get("num_qo_heads")
        kv_heads = self.given.num_kv_heads or own.get("num_kv_heads")
        if dcp > 1:
            unfit = sizes_finding(ranks, self.options.prefill_context_parallel, dcp, self.flags.release)
            if unfit is None and isinstance(heads, int) and isinstance(kv_heads, int) and not own.get("use_mla"):
                unfit = gqa_finding(name, heads, kv_heads, ranks, dcp, self.flags.release)
            if unfit is not None:
                self._place_at("use_dcp", unfit)
            elif not own.get("use_mla") and not (isinstance(heads, int) and isinstance(kv_heads, int)):
                self.missing.append("num_qo_heads" if not isinstance(heads, int) else "num_kv_heads")
        if ranks <= 1:
            return
        if not isinstance(heads, int):
            self.missing.append("num_qo_heads")
            finding = findings.make(
                "launch-heads-unknown",
                "The number of attention heads is not known",
                f"A tensor parallel size of {ranks} has to divide the attention heads, whose number is not known.",
                effect="note",
                fix="Give the model's folder with --model, or --num-qo-heads.",
            )
            self._place_at("tensor_parallel", finding)
            return
        if heads % ranks:
            finding = findings.make(
                "launch-heads-not-divisible",
                "The attention heads do not divide among the ranks",
                f"{name} has {heads} attention heads, which do not divide by a tensor parallel size of {ranks}.",
                effect="unsupported",
                required=f"num_attention_heads divisible by {ranks}",
                actual=f"num_attention_heads={heads}",
                fix="Choose a tensor parallel size that divides the number of attention heads.",
                words=f"Total number of attention heads ({heads}) must be divisible by tensor parallel size ({ranks}).",
                exception="ValueError",
                source=FindingSource(ref="vllm/config/model.py:ModelConfig.verify_with_parallel_config@0.33.0"),
            )
            self._place_at("tensor_parallel", finding)
            return
        self._kv_heads(own, ranks, name)
        self._widths(ranks, name)
        if not stated:
            own["num_qo_heads"] = heads // ranks
            if isinstance(own.get("num_kv_heads"), int):
                own["num_kv_heads"] = max(1, own["num_kv_heads"] // ranks)

    def _widths(self, ranks: int, name: str | None) -> None:
        """Find widths of the model, other than its heads, that the ranks do not divide."""
        text = text_config(self.config or {})
        finding = width_finding(name, text, ranks)
        if finding is not None:
            self._place_at("tensor_parallel", finding)
        else:
            self.missing += open_widths(text, ranks)

    def _kv_heads(self, own: dict[str, Any], ranks: int, name: str | None) -> None:
        """Find KV heads that can neither be divided among the ranks nor repeated on them."""
        heads = own.get("num_kv_heads")
        if not isinstance(heads, int) or own.get("use_mla") or max(heads, ranks) % min(heads, ranks) == 0:
            return
        finding = findings.make(
            "launch-kv-heads-not-divisible",
            "The KV heads do not divide among the ranks",
            f"{name} has {heads} KV heads; a tensor parallel size of {ranks} neither divides them nor is a multiple.",
            effect="unsupported",
            bites="init",
            required=f"num_key_value_heads divisible by {ranks}, or {ranks} by it",
            actual=f"num_key_value_heads={heads}",
            fix="Choose a tensor parallel size that divides the number of KV heads, or a multiple of it.",
            exception="AssertionError",
            source=FindingSource(ref="vllm/model_executor/layers/linear.py:QKVParallelLinear.__init__@0.33.0"),
        )
        self._place_at("tensor_parallel", finding)

    def _cache_dtype(self, facts: ModelFacts, config: dict[str, Any], source: ModelSource) -> None:
        """Say what `auto` becomes because of the checkpoint, and where a checkpoint wins over the option."""
        asked = self.options.fields.get("kv_cache_dtype", "auto")
        becomes = facts.checkpoint_cache_dtype
        quantization = quantization_of(config, text_config(config))
        overridden = quantization is not None and scheme_overrides(quantization, self.flags.release)
        unread = refused_scheme(quantization, self.flags.release) if quantization is not None else None
        if unread is not None:
            self.findings.append(Placed(unread, self.launch.line, self.launch.column))
        if becomes is not None and self.given.kv_cache_dtype is None and (asked == "auto" or overridden):
            if asked not in ("auto", becomes):
                finding = findings.make(
                    "launch-checkpoint-overrides-cache-dtype",
                    "The checkpoint's KV-cache scheme wins over the option",
                    f"--kv-cache-dtype {asked} has no effect in vLLM {self.flags.release}: the checkpoint declares a "
                    f"KV-cache scheme, and the cache becomes {becomes}.",
                    effect="degraded",
                    fix="Use vLLM 0.22.0 or newer, or a checkpoint without a KV-cache scheme.",
                )
                self._place_at("kv_cache_dtype", finding)
            self.options.fields["kv_cache_dtype"] = becomes
            self.assumed.append(
                Assumption("kv_cache_dtype", becomes, f"what the checkpoint turns auto into ({source.origin})")
            )
        elif asked == "auto" and not source.exact and self.given.kv_cache_dtype is None:
            self.assumed.append(
                Assumption("kv_cache_dtype", "auto", "a quantised checkpoint may turn it into fp8 or nvfp4")
            )


_SIZES = frozenset({"head_size", "kv_lora_rank"})
"""Sizes that a configuration may give as 0, which then say nothing."""
_SPARSE_MLA = frozenset({"deepseek_v32", "glm_moe_dsa"})
"""Model types of deepseek_v2.py whose layers have an indexer."""
_READ_AS_OTHERS = frozenset({"auto-round", "auto_round"})
"""Methods of checkpoints that the engine reads under a name of its own (layers/quantization/inc/inc.py@0.33.0)."""


def _merged(config: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with --hf-overrides laid over it."""
    merged = dict(config)
    for key, value in overrides.items():
        present = merged.get(key)
        merged[key] = _merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return merged
