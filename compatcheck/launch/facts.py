"""A launch into what the resolver judges: configuration fields, layers, and what each option is to the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from compatcheck.launch.arguments import Parsed
from compatcheck.launch.draft import draft_layer, has_layers, known_draft, not_looked_at
from compatcheck.launch.engine_release import release_of
from compatcheck.launch.env_file import read_env_file
from compatcheck.launch.environment import RUNNER, EnvironmentFacts, read_environment
from compatcheck.launch.flag_table import FlagTable, table
from compatcheck.launch.linear_plan import LinearPlan
from compatcheck.launch.linear_reading import FORCING, environment_fields, read_linear, truth_of
from compatcheck.launch.model import Launch, LaunchFacts, Layer, Placed, Report, Setting, Word
from compatcheck.launch.model_memory import ModelMemory
from compatcheck.launch.model_reading import ModelReader
from compatcheck.launch.model_runner import depends_on_runner, served_by_v2
from compatcheck.launch.option_facts import OptionFacts
from compatcheck.launch.option_reading import read_options
from compatcheck.launch.packed_cache import hybrid_finding, is_packed, names_finding, open_layers, with_boundary
from compatcheck.launch.parsing import OptionReader
from compatcheck.launch.whole_model import model_findings
from compatcheck.launch.windows import hybrid_manager
from compatcheck.matrix.model import Matrix
from compatcheck.resolve.configuration import FIELDS, LINEAR_FIELDS, VERSION_FIELDS, Configuration
from compatcheck.resolve.verdict import Assumption


def read_launch(
    matrix: Matrix,
    launch: Launch,
    given: Configuration | None = None,
    *,
    model: str | None = None,
    changed: Mapping[str, Any] | None = None,
    memory: ModelMemory | None = None,
) -> LaunchFacts:
    """Return what a launch means. `given` are facts that the user states: they win over the launch.

    `model` replaces the model of the launch by a folder, a config.json or another id; `changed` are fields that its
    options say otherwise, or not at all (None). `memory` keeps what is read of the model for the next time. Never
    raises for what a launch says: what is wrong with it is among the findings.
    """
    return _Reader(matrix, launch, given or Configuration(), model, changed or {}, memory or ModelMemory()).run()


def read_changed(
    matrix: Matrix,
    launch: Launch,
    given: Configuration,
    changes: dict[str, Any],
    *,
    model: str | None = None,
    memory: ModelMemory | None = None,
) -> LaunchFacts:
    """Return what a launch means with some fields changed, those of value None taken out of it.

    Versions, and what the user states apart from the launch, change there; all else in the launch's options.
    """
    apart = {f: v for f, v in changes.items() if f in VERSION_FIELDS or getattr(given, f) is not None}
    inside = {f: v for f, v in changes.items() if f not in VERSION_FIELDS}
    stated = msgspec.structs.replace(given, **apart)
    return read_launch(matrix, launch, stated, model=model, changed=inside, memory=memory)


class _Reader:
    def __init__(
        self,
        matrix: Matrix,
        launch: Launch,
        given: Configuration,
        model: str | None,
        changed: Mapping[str, Any],
        memory: ModelMemory,
    ) -> None:
        self.matrix = matrix
        self.changed = changed
        self.launch = launch
        self.given = given
        self.model = model
        self.memory = memory
        self.fields: dict[str, Any] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.assumed: list[Assumption] = []
        self.findings: list[Placed] = []
        self.reports: list[Report] = []
        self.release = release_of(launch, given.engine_version)
        self.flags: FlagTable = table(self.release.release)

    def _set(self, field: str, value: Any, word: Word | Setting, ground: str) -> None:
        self.fields[field] = value
        self.places[field] = (word.line, word.column)
        self.assumed.append(Assumption(field, value, ground))

    def run(self) -> LaunchFacts:
        word = self.release.word
        if word is not None:
            image = self.release.image
            ground = f"from {word.text}" + (f" ({image.source})" if image is not None and image.source else "")
            self._set("engine_version", self.release.version, word, ground)
            if image is not None and image.flashinfer is not None and self.given.flashinfer_version is None:
                self._set("flashinfer_version", image.flashinfer, word, ground)
        if self.launch.gpu is not None and self.given.sm is None:
            self._set("sm", self.launch.gpu.text, self.launch.gpu, "from the launch")
        reader = OptionReader(self.launch, self.release, self.flags)
        parsed = reader.read()
        environment = read_environment(self._variables(), self.flags, self.release)
        options = read_options(parsed, self.flags, self.release)
        self._change(options, environment)
        name = self._model_name(parsed)
        model = ModelReader(self.matrix, self.launch, self.flags, self.given, options, environment, self.memory)
        layers = model.read(name)
        self.fields |= model.fields
        own_dtype = self.fields.get("dtype")
        for field, value in {**environment.fields, **options.fields}.items():
            if value != "auto" or field != "dtype" or own_dtype is None:
                self.fields[field] = value
        model_dtype = (
            own_dtype is not None and options.fields.get("dtype", "auto") == "auto" and self.given.dtype is None
        )
        self.places |= environment.places | options.places
        for field, value in msgspec.structs.asdict(self.given).items():
            if value is not None and field != "linear" and field not in LINEAR_FIELDS:
                self.fields[field] = value
                self.places.pop(field, None)
        linear, wrong = self._linear(name, model, options, environment)
        layers = self._packed([self._own_facts(layer, options) for layer in layers], name, model, options)
        hybrid = hybrid_manager(options.hybrid_off, options.connector, self.flags.release, events=options.kv_events)
        for field, finding in model_findings(
            name, model.config, layers, self.fields, options, environment, hybrid, self.flags.release
        ):
            self.findings.append(Placed(finding, *self.places.get(field, (self.launch.line, self.launch.column))))
        if environment.runner_open and depends_on_runner(self.fields.get("kv_cache_dtype"), self.flags.release):
            model.missing.append(RUNNER)
        if is_packed(self.fields.get("kv_cache_dtype")) and options.open & GRAPHS:
            model.missing.append("cudagraph_mode")
        if not environment.runner_open and served_by_v2(model.config, layers, options, self.flags.release):
            self.fields.setdefault("use_v2_model_runner", True)
        layers = self._drafted(layers, options)
        self._elsewhere()
        reports = (*environment.reports, *options.reports, *reader.reports, *model.reports, *self.reports)
        return LaunchFacts(
            configuration=Configuration(**self.fields),
            release=self.flags.release,
            line=self.launch.line,
            column=self.launch.column,
            model=name,
            layers=tuple(layers),
            assumed=tuple(a for a in (*self.assumed, *model.assumed) if getattr(self.given, a.field, None) is None),
            findings=(
                *(*reader.findings, *environment.findings, *options.findings, *model.findings),
                *(*wrong, *self.findings),
            ),
            reports=reports,
            missing=self._missing([*(report.missing for report in reports), *model.missing, *linear.missing]),
            linear=linear,
            hybrid_manager=hybrid,
            connector=options.connector,
            unreadable=tuple(model.unreadable),
            model_dtype=model_dtype,
            unknown_kind=not model.known and not environment.mla_disabled and not self._says_kind(),
            known_model=model.known,
            places=self.places,
            origins={field: place for field, place in options.origins.items() if field in self.places},
        )

    def _says_kind(self) -> bool:
        return self.fields.get("use_mla") is not None or self.fields.get("kv_lora_rank") is not None

    def _change(self, options: OptionFacts, environment: EnvironmentFacts) -> None:
        for field, value in self.changed.items():
            for said in (options.fields, options.linear, environment.fields):
                said.pop(field, None)
            options.places.pop(field, None)
            if value is not None:
                (options.linear if field in LINEAR_FIELDS else options.fields)[field] = value
        if "backend" in self.changed:
            options.backend_per_kind = {}
        if "linear_backend" in self.changed:
            options.linear_per_scheme = {}

    def _variables(self) -> dict[str, Word]:
        """Return the environment: what files of variables hold, and above them what the launch sets itself."""
        found: dict[str, Word] = {}
        for word in self.launch.env_files:
            variables, problem = read_env_file(word, self.launch.directory)
            found |= variables
            if problem is not None:
                why = f"{problem}, so the variables in it are not known"
                self.reports.append(
                    Report(
                        name="env-file",
                        status="unknown",
                        why=why,
                        line=word.line,
                        column=word.column,
                        missing=f"the variables in {word.text}",
                    )
                )
        return found | self.launch.environment

    def _elsewhere(self) -> None:
        """Say of what the file takes from elsewhere that nothing is known of it."""
        for word in self.launch.elsewhere:
            self.reports.append(
                Report(
                    name=word.text,
                    status="unknown",
                    why="what it holds is known only where it is run",
                    line=word.line,
                    column=word.column,
                    missing=f"what {word.text} holds",
                )
            )

    def _linear(
        self, name: str | None, model: ModelReader, options: OptionFacts, environment: EnvironmentFacts
    ) -> tuple[LinearPlan, list[Placed]]:
        """Return what the launch says of NVFP4 linear layers, and what it gets wrong there."""
        engine = self.matrix.engines[ENGINE].linear
        values = {variable: word.text for variable, word in environment.linear.items() if not word.dynamic}
        fields, wrong = environment_fields(values, engine, self.flags)
        opened = [variable for variable, word in environment.linear.items() if word.dynamic]
        opened += [f"what {v} forces" for v in FORCING if v in values and truth_of(values[v]) is None]
        opened += [option for option in ("--linear-backend", "--kernel-config") if option in options.open]
        plan = read_linear(
            name,
            model.config,
            None if "--tensor-parallel-size" in options.open else options.tensor_parallel,
            {**{name: value for name, value in fields.items() if name not in self.changed}, **options.linear},
            options.linear_per_scheme,
            self.given,
            self.flags,
            self.memory,
            exact=model.exact,
            use_mla=bool(self.fields.get("use_mla")),
            open_=tuple(opened),
        )
        here = Word("", self.launch.line, self.launch.column)
        placed = [Placed(finding, *_at(environment.linear.get("VLLM_DISABLED_KERNELS", here))) for finding in wrong]
        return plan, placed + [Placed(finding, here.line, here.column) for finding in plan.findings]

    def _packed(
        self, layers: list[Layer], name: str | None, model: ModelReader, options: OptionFacts
    ) -> tuple[Layer, ...]:
        """Split off the layers that a TurboQuant cache leaves out, and find what it cannot be used with."""
        dtype = self.fields.get("kv_cache_dtype")
        if not is_packed(dtype):
            return tuple(layers)
        for field, refused in (
            ("kv_cache_dtype", hybrid_finding(name, str(dtype), layers, self.flags.release)),
            ("skip_layers", names_finding(str(dtype), options.skip_layers, self.flags.release)),
        ):
            if refused is not None:
                self.findings.append(Placed(refused, *self.places.get(field, (self.launch.line, 1))))
        missing = open_layers(self.fields.get("backend"), known=model.config is not None)
        model.missing += [missing] if missing else []
        return with_boundary(layers, known=model.config is not None)

    def _drafted(self, layers: tuple[Layer, ...], options: OptionFacts) -> tuple[Layer, ...]:
        """Add the layers of a draft model of which the answer is known; say of another that it is not looked at."""
        if not has_layers(options.speculative):
            return layers
        dtype = self.fields.get("kv_cache_dtype")
        asked = dtype in (None, "auto") or "kv_cache_dtype" in self.places or self.given.kv_cache_dtype is not None
        found = (
            known_draft(
                options.speculative,
                dtype,
                self.fields.get("backend"),
                self.matrix,
                self.flags.release,
                options.tensor_parallel,
                self.launch.directory,
            )
            if asked
            else ()
        )
        if found:
            return (*layers, *found)
        draft = draft_layer(options.speculative, self.fields.get("kv_cache_dtype"), layers, self.launch.directory)
        if draft is not None:
            return (*layers, draft)
        place = self.places.get("speculative", (self.launch.line, self.launch.column))
        self.findings.append(Placed(not_looked_at(options.speculative), *place))
        return layers

    def _missing(self, names: list[str | None]) -> tuple[str, ...]:
        """Return what is open and could change the verdict: not what the user states, nor what this model lacks."""
        irrelevant: set[str] = set()
        if self.fields.get("use_mla") is False:
            irrelevant.add("VLLM_MLA_DISABLE")
        if not self.fields.get("use_mm_prefix"):
            irrelevant |= {"the value of --limit-mm-per-prompt", "the value of --language-model-only"}
        irrelevant |= {field for field in FIELDS if getattr(self.given, field) is not None}
        return tuple(dict.fromkeys(name for name in names if name is not None and name not in irrelevant))

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

    def _model_name(self, parsed: Parsed) -> str | None:
        if self.model is not None:
            return self.model
        option = parsed.last("--model")
        if parsed.model is not None and parsed.model.dynamic and option is not None and not option.dynamic:
            return str(option.value)
        if parsed.model is not None and self.launch.form == "command" and not self.launch.program.startswith("python"):
            return None if parsed.model.dynamic else parsed.model.text
        if option is not None:
            return None if option.dynamic else str(option.value)
        return None if parsed.model is None or parsed.model.dynamic else parsed.model.text


def _at(word: Word) -> tuple[int, int]:
    return word.line, word.column


ENGINE = "vllm"
GRAPHS = frozenset({"--compilation-config", "--optimization-level"})
"""Options that set cudagraph_mode, of which only rules about a packed cache ask."""
_SPEC_KINDS = {"sliding_attention": "sliding_window", "mla": "mla_attention"}
"""Kind of layer -> KVCacheSpecKind (vllm/v1/attention/selector.py:get_attn_spec_kind@0.33.0)."""
