"""A launch into what the resolver judges: configuration fields, layers, and what each option is to the verdict."""

from __future__ import annotations

from typing import Any

import msgspec

from compatcheck.launch import docker, findings
from compatcheck.launch.arguments import Parsed, parse_arguments
from compatcheck.launch.checkpoint import scheme_overrides
from compatcheck.launch.context_parallel import gqa_finding
from compatcheck.launch.environment import EnvironmentFacts, read_environment
from compatcheck.launch.flag_table import FlagTable, release_for, releases, table
from compatcheck.launch.model import Launch, LaunchFacts, Layer, Placed, Report, Setting, Word
from compatcheck.launch.model_config import ModelFacts, read_model
from compatcheck.launch.model_source import ModelError, ModelSource, find_model
from compatcheck.launch.option_facts import OptionFacts, read_options
from compatcheck.launch.serve_config import read_config_file
from compatcheck.matrix.model import Matrix
from compatcheck.matrix.versions import InvalidVersion, public
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Assumption


def read_launch(
    matrix: Matrix, launch: Launch, given: Configuration | None = None, *, model: str | None = None
) -> LaunchFacts:
    """Return what a launch means. `given` are facts that the user states: they win over the launch.

    `model` replaces the model of the launch by a folder, a config.json or another id. Never raises for what a launch
    says: what is wrong with it is among the findings.
    """
    return _Reader(matrix, launch, given or Configuration(), model).run()


class _Reader:
    def __init__(self, matrix: Matrix, launch: Launch, given: Configuration, model: str | None) -> None:
        self.matrix = matrix
        self.launch = launch
        self.given = given
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.assumed: list[Assumption] = []
        self.findings: list[Placed] = []
        self.reports: list[Report] = []
        self.version, self.certain = self._version()
        self.flags: FlagTable = table(release_for(self.version) if self.version else releases()[-1])
        self.model = model

    def _version(self) -> tuple[str | None, bool]:
        """Return the engine's version and whether someone stated it."""
        sources = (
            (self.given.engine_version, None),
            (self.launch.engine_version.text if self.launch.engine_version else None, self.launch.engine_version),
            (docker.engine_version(self.launch.image.text) if self.launch.image else None, self.launch.image),
        )
        for text, word in sources:
            if text is None:
                continue
            try:
                version = public(str(text).removeprefix("v"))
            except InvalidVersion:
                continue
            if word is not None:
                self._set("engine_version", version, word)
                self.assumed.append(Assumption("engine_version", version, f"from {word.text}"))
            return version, True
        return None, False

    def _set(self, field: str, value: Any, word: Word | Setting) -> None:
        self.fields[field] = value
        self.places[field] = (word.line, word.column)

    # --------------------------------------------------------------------------------------- steps

    def run(self) -> LaunchFacts:
        if self.launch.gpu is not None and self.given.sm is None:
            self._set("sm", self.launch.gpu.text, self.launch.gpu)
            self.assumed.append(Assumption("sm", self.launch.gpu.text, "from the launch"))
        parsed = self._parse()
        environment = read_environment(self.launch.environment, self.flags)
        self.findings += environment.findings
        options = read_options(parsed, self.flags)
        self.findings += options.findings
        name = self._model_name(parsed)
        layers = self._model(name, options, environment)
        for field, value in {**environment.fields, **options.fields}.items():
            self.fields[field] = value
        self.places |= environment.places | options.places
        for field, value in msgspec.structs.asdict(self.given).items():
            if value is not None:
                self.fields[field] = value
                self.places.pop(field, None)
        layers = tuple(self._own_facts(layer, options) for layer in layers)
        return LaunchFacts(
            configuration=Configuration(**self.fields),
            release=self.flags.release,
            model=name,
            layers=layers,
            assumed=tuple(a for a in self.assumed if getattr(self.given, a.field, None) is None),
            findings=tuple(self.findings),
            reports=(*environment.reports, *options.reports, *self.reports),
            places=self.places,
        )

    def _own_facts(self, layer: Layer, options: OptionFacts) -> Layer:
        """Drop what the user stated, and give sliding layers what --kv-cache-dtype-skip-layers says of them."""
        own = {f: v for f, v in layer.facts.items() if getattr(self.given, f, None) is None}
        skip = options.skip_layers
        if layer.kind == "sliding_attention" and "sliding_window" in skip and self.given.kv_cache_dtype is None:
            own["kv_cache_dtype"] = "auto"
        backend = options.backend_per_kind.get(_SPEC_KINDS.get(layer.kind, layer.kind))
        if backend is not None and self.given.backend is None:
            own["backend"] = backend
        return msgspec.structs.replace(layer, facts=own)

    def _parse(self) -> Parsed:
        if self.launch.form == "python":
            return self._from_python()
        words = self.launch.words
        first = parse_arguments(words, self.flags)
        file = first.last("--config")
        if file is not None:
            words = self._with_config_file(words, file)
            first = parse_arguments(words, self.flags)
        other = self.launch.program in ("vllm run-batch",) or self.launch.program.startswith("vllm bench")
        for problem in first.problems:
            word = problem.word
            if other and problem.kind == "unknown":
                self._report(problem.option, "not relevant", f"an option of {self.launch.program}", word)
                continue
            if problem.kind == "unexpected" and word.dynamic:
                # `"$@"` and `$EXTRA_ARGS` are whole arguments; the parser sees what they expand to, not these words.
                self._report(word.text, "unknown", "the shell puts arguments here that are known only there", word)
                continue
            finding = findings.of_problem(problem, self.flags, certain=self.certain)
            self.findings.append(Placed(finding, word.line, word.column))
            if problem.kind in ("unknown", "unexpected", "ambiguous", "missing-value"):
                self._report(problem.option, "unknown", finding.message, word)
        return first

    def _with_config_file(self, words: tuple[Word, ...], setting: Setting) -> tuple[Word, ...]:
        place = Word(str(setting.value), setting.line, setting.column)
        if setting.dynamic:
            problem: str | None = f"{setting.value} is set elsewhere, so the options of that file are not known"
        else:
            config = read_config_file(str(setting.value), self.launch.directory, place, self.flags)
            if config.words:
                first = words[:1] if words and not words[0].text.startswith("-") else ()
                return (*first, *config.words, *words[len(first) :])
            problem = config.problem
        self._report("--config", "unknown", problem or f"{setting.value} was not read", place)
        return words

    def _from_python(self) -> Parsed:
        settings: list[Setting] = []
        for setting in self.launch.settings:
            known = setting.option in self.flags.flags
            if not known and setting.option not in ("--enable-return-routed-experts", "--runner"):
                word = Word(setting.written, setting.line, setting.column)
                why = f"no option of vLLM {self.flags.release} has this name; LLM() may still take it"
                self._report(setting.written, "unknown", why, word)
                continue
            settings.append(setting)
        return Parsed(tuple(settings), None, ())

    def _report(self, name: str, status: Any, why: str, place: Word) -> None:
        self.reports.append(Report(name=name, status=status, why=why, line=place.line, column=place.column))

    # --------------------------------------------------------------------------------------- model

    def _model_name(self, parsed: Parsed) -> str | None:
        if self.model is not None:
            return self.model
        option = parsed.last("--model")
        if parsed.model is not None and self.launch.form == "command" and not self.launch.program.startswith("python"):
            return None if parsed.model.dynamic else parsed.model.text
        if option is not None:
            return None if option.dynamic else str(option.value)
        return None if parsed.model is None or parsed.model.dynamic else parsed.model.text

    def _model(self, name: str | None, options: OptionFacts, environment: EnvironmentFacts) -> tuple[Layer, ...]:
        source = self._source(name, options)
        if source is None:
            return (Layer(kind="attention"),)
        config = _merged(source.config, options.hf_overrides)
        facts = read_model(
            self.matrix,
            self.flags.release,
            config,
            mla_disabled=environment.mla_disabled,
            text_only=options.text_only,
            sliding_window_disabled=options.sliding_window_disabled,
        )
        self.assumed.append(Assumption("model", name, source.origin))
        own = {f: v for f, v in {**facts.facts, **source.facts}.items() if v is not None}
        if source.facts.get("use_mla"):
            own.pop("head_size", None)
        self._shard(own, options, name)
        self.fields |= own
        self._cache_dtype(facts, config, options, source)
        if source.layers:
            return tuple(Layer(kind=kind, count=count) for kind, count in source.layers)
        if source.counted:
            return facts.layers
        return tuple(msgspec.structs.replace(layer, count=None) for layer in facts.layers)

    def _source(self, name: str | None, options: OptionFacts) -> ModelSource | None:
        for candidate in (options.hf_config_path, name):
            if candidate is None:
                continue
            try:
                source = find_model(candidate, self.launch.directory)
            except ModelError as error:
                finding = findings.make(
                    "launch-model-unreadable",
                    "The model's configuration cannot be read",
                    f"{error}",
                    effect="note",
                    fix="Give --model a folder with a readable config.json, or state the facts as options.",
                )
                self.findings.append(Placed(finding, self.launch.line, self.launch.column))
                return None
            if source is not None:
                return source
        return None

    def _shard(self, own: dict[str, Any], options: OptionFacts, name: str | None) -> None:
        """Turn head counts of the model into those of one rank, as the selector and the kernels see them.

        KV heads are repeated where there are fewer than ranks (vllm/config/model.py:ModelConfig.get_num_kv_heads).
        """
        ranks = options.tensor_parallel
        heads = own.get("num_qo_heads")
        kv_heads = own.get("num_kv_heads")
        if options.decode_context_parallel > 1 and heads and kv_heads and not own.get("use_mla"):
            unfit = gqa_finding(name, heads, kv_heads, ranks, options.decode_context_parallel)
            line, column = options.places.get("use_dcp", (self.launch.line, self.launch.column))
            self.findings += [Placed(unfit, line, column)] if unfit is not None else []
        if not isinstance(heads, int) or ranks <= 1:
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
            )
            line, column = options.places.get("tensor_parallel", (self.launch.line, self.launch.column))
            self.findings.append(Placed(finding, line, column))
            return
        own["num_qo_heads"] = heads // ranks
        if isinstance(own.get("num_kv_heads"), int):
            own["num_kv_heads"] = max(1, own["num_kv_heads"] // ranks)

    def _cache_dtype(
        self, facts: ModelFacts, config: dict[str, Any], options: OptionFacts, source: ModelSource
    ) -> None:
        """Say what `auto` becomes because of the checkpoint, and where a checkpoint wins over the option."""
        asked = options.fields.get("kv_cache_dtype", "auto")
        becomes = facts.checkpoint_cache_dtype
        quantization = config.get("quantization_config")
        overridden = isinstance(quantization, dict) and scheme_overrides(quantization, self.flags.release)
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
                line, column = options.places.get("kv_cache_dtype", (self.launch.line, self.launch.column))
                self.findings.append(Placed(finding, line, column))
            options.fields["kv_cache_dtype"] = becomes
            self.assumed.append(
                Assumption("kv_cache_dtype", becomes, f"what the checkpoint turns auto into ({source.origin})")
            )
        elif asked == "auto" and not source.exact and self.given.kv_cache_dtype is None:
            self.assumed.append(
                Assumption("kv_cache_dtype", "auto", "a quantised checkpoint may turn it into fp8 or nvfp4")
            )


_SPEC_KINDS = {"sliding_attention": "sliding_window", "mla": "mla_attention"}
"""Kind of layer -> KVCacheSpecKind (vllm/v1/attention/selector.py:get_attn_spec_kind@0.33.0)."""


def _merged(config: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with --hf-overrides laid over it."""
    merged = dict(config)
    for key, value in overrides.items():
        present = merged.get(key)
        merged[key] = _merged(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return merged
