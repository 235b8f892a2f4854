"""What a vLLM release's text says of its attention backends (runs in the reading process)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from compatcheck.audit.engine_environment import EngineEnvironment, capability
from compatcheck.audit.guards.engine import read_guards
from compatcheck.audit.guards.item import Guard
from compatcheck.audit.import_reading import needs_at_import
from compatcheck.audit.prefill_reading import prefill_paths, read_prefill
from compatcheck.audit.reading import classes
from compatcheck.audit.reading.axes import domains
from compatcheck.audit.reading.core import MISSING
from compatcheck.audit.reading.digest import digest
from compatcheck.audit.reading.explore import Gate, Reading, explore
from compatcheck.audit.reading.machine import Machine
from compatcheck.audit.reading.source import Program
from compatcheck.audit.reading.statements import Evaluator
from compatcheck.audit.reading.values import (
    Bound,
    ClassValue,
    EnumMember,
    External,
    FunctionValue,
    NotUnderstoodError,
    RaisedError,
    Scope,
    Sym,
)
from compatcheck.audit.selector_clauses import Clause, clauses

REGISTRY = "vllm.v1.attention.backends.registry"
BASE = "vllm.v1.attention.backend"
NOT_CUDA = ("ROCM", "XPU", "CPU", "AMX", "IPEX", "PALLAS", "ZEN")
NOT_ATTENTION = ("CUSTOM", "TORCH_SDPA")

HOOKS: dict[str, tuple[str, str | None]] = {
    "head_size": ("supports_head_size", "head_size"),
    "dtype": ("supports_dtype", "dtype"),
    "kv_cache_dtype": ("supports_kv_cache_dtype", "kv_cache_dtype"),
    "block_size": ("supports_block_size", "block_size"),
    "use_mm_prefix": ("supports_mm_prefix", None),
    "mla": ("is_mla", None),
    "has_sink": ("supports_sink", None),
    "sparse": ("is_sparse", None),
    "use_per_head_quant_scales": ("supports_per_head_quant_scales", None),
    "sm": ("supports_compute_capability", "sm"),
    "attn_type": ("supports_attn_type", "attn_type"),
    "sliding_window": ("supports_sliding_window", None),
    "use_rswa": ("supports_rswa", None),
    "use_non_causal": ("supports_non_causal", None),
    "non_causal_dcp": ("supports_non_causal_dcp", None),
    "use_batch_invariant": ("supports_batch_invariance", None),
    "use_kv_connector": ("supports_kv_connector", None),
    "use_pcp": ("supports_pcp", None),
    "use_dcp": ("supports_dcp", None),
    "use_adaptive_verification": ("supports_device_cpu_query_lens_mismatch", None),
    "joint_rules": ("supports_combination", "*"),
}
"""Check of the matrix's selector -> the backend's method that answers it, and the input that it takes."""

UNASKED = frozenset(
    [
        "supports_alibi_sqrt",
        "supported_kv_cache_layouts",
        "supports_kv_cache_update_bypass",
        "get_supported_kernel_block_sizes",
        "get_supported_head_sizes",
        "is_ssm",
        "supports_non_causal_multi_token_dcp",
        "supports_quant_query_input",
        "supports_update_block_table",
        "supports_compact_seq_idx",
    ]
)
"""Methods that look like gates and that the selector does not ask by themselves."""

_GATE_PREFIXES = ("supports_", "is_", "validate_", "check_", "requires_", "get_supported_")


class BackendReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One backend's answers; `unimportable` where its class cannot be found, with the engine's words."""

    cls: str
    file: str = ""
    line: int = 0
    checks: dict[str, Reading] = {}
    unimportable: str | None = None
    needs_flashinfer: str = ""
    """Where its module imports FlashInfer unconditionally."""
    strange: list[Gate] = []
    """Methods of its class that look like gates and that nothing here asks."""


class VllmReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that was read."""

    clauses: list[Clause] = []
    kv_cache_dtypes: list[str] | None = None
    backends: dict[str, BackendReading] = {}
    prefill: dict[str, dict[str, Reading]] | None = None
    priorities: Reading | None = None
    linear_order: Reading | None = None
    linear_kernels: dict[str, Reading] = {}
    strange: list[Gate] = []
    assumed: list[str] = []
    unreadable: dict[str, str] = {}
    guards: list[Guard] = []
    """What nothing evaluates, by fingerprint."""


class VllmReader:
    """Asks one release's text."""

    def __init__(
        self, program: Program, sms: Iterable[str], kv_cache_dtypes: Iterable[str], cuda: str = "13.0"
    ) -> None:
        self.program = program
        self.environment = EngineEnvironment(cuda)
        self.vocabulary = self._vocabulary()
        self.domains = domains(sms, self.vocabulary or kv_cache_dtypes)
        self.strange: list[Gate] = []

    def read(self) -> VllmReading:
        """Return everything that is read."""
        said = self._clauses()
        asked = [clause.check for clause in said if clause.check in HOOKS]
        asked += [check for check in ("mla", "sparse") if check not in asked]
        paths = self._registry()
        backends = {name: self._backend(name, path, asked) for name, path in paths.items()}
        order, kernels = self._linear()
        return VllmReading(
            clauses=said,
            kv_cache_dtypes=self.vocabulary,
            backends=backends,
            prefill=read_prefill(self.program, self.environment, self.domains),
            priorities=self._priorities(),
            linear_order=order,
            linear_kernels=kernels,
            strange=self.strange,
            assumed=sorted(self.environment.assumed),
            guards=self._guards(paths.values()),
            unreadable=self.program.unreadable,
        )

    def read_guards(self) -> VllmReading:
        """Return the guards alone."""
        return VllmReading(guards=self._guards(self._registry().values()), unreadable=self.program.unreadable)

    def _guards(self, backends: Iterable[str]) -> list[Guard]:
        prefill = prefill_paths(self.program, self.environment, self.domains) or {}
        evaluated = frozenset({method for method, _ in HOOKS.values()} | {"validate_configuration"})
        return read_guards(self.program, backends, prefill.values(), evaluated)

    def _quick(self) -> Evaluator:
        return Evaluator(self.program, Machine(self.domains, []), self.environment)

    def _lost(self, file: str, line: int, text: str, why: str) -> None:
        self.strange.append(Gate(file=file, line=line, text=text, why=why))

    # ------------------------------------------------------------------------------------ single facts

    def _vocabulary(self) -> list[str] | None:
        module = self.program.module("vllm.config.cache")
        for statement in module.touching.get("CacheDType", []) if module else []:
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            if isinstance(value, ast.Subscript) and ast.unparse(value.value).endswith("Literal"):
                items = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
                if all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in items):
                    return [str(item.value) for item in items if isinstance(item, ast.Constant)]
        return None

    def _registry(self) -> dict[str, str]:
        evaluator = self._quick()
        try:
            cls = evaluator.global_name(REGISTRY, "AttentionBackendEnum")
            members = evaluator.members(cls) if isinstance(cls, ClassValue) else []
        except (NotUnderstoodError, RaisedError) as error:
            self._lost("vllm/v1/attention/backends/registry.py", 0, "AttentionBackendEnum", str(error))
            return {}
        if not members:
            self._lost(
                "vllm/v1/attention/backends/registry.py",
                0,
                "AttentionBackendEnum",
                "the registry of backends is not there",
            )
        return {
            m.name: m.value
            for m in members
            if isinstance(m.value, str) and m.value and not m.name.startswith(NOT_CUDA) and m.name not in NOT_ATTENTION
        }

    def _clauses(self) -> list[Clause]:
        cls = self._quick().global_name(BASE, "AttentionBackend")
        if isinstance(cls, ClassValue):
            for item in cls.node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "validate_configuration":
                    return clauses(item, "vllm/v1/attention/backend.py")
        self._lost(
            "vllm/v1/attention/backend.py",
            0,
            "AttentionBackend.validate_configuration",
            "the selector's question is not there",
        )
        return []

    # ---------------------------------------------------------------------------------------- backends

    def _backend(self, name: str, path: str, asked: list[str]) -> BackendReading:
        module, _, cls_name = path.rpartition(".")
        try:
            cls = self._quick().imported(module, cls_name, ast.parse(path, mode="eval").body, Scope(REGISTRY))
        except (RaisedError, SyntaxError) as error:
            said = f"import: {error}" if isinstance(error, RaisedError) else f"import: {path!r} is no path of a class"
            return BackendReading(cls=path, unimportable=said)
        except NotUnderstoodError as error:
            return BackendReading(
                cls=path,
                strange=[Gate(file=error.place.file, line=error.place.line, text=error.place.text, why=error.why)],
            )
        if not isinstance(cls, ClassValue):
            why = self.program.unreadable.get(self.program.file_of(module) or "", "no class that can be followed")
            return BackendReading(
                cls=path, strange=[Gate(file=self.program.file_of(module) or module, line=0, text=path, why=why)]
            )
        checks: dict[str, Reading] = {}
        for check in asked:
            reading = explore(self.program, self.environment, self.domains, self._asking(module, cls_name, check))
            checks[check] = reading
        parsed = self.program.module(cls.module)
        return BackendReading(
            cls=path,
            file=parsed.file if parsed else "",
            line=cls.node.lineno,
            checks=checks,
            needs_flashinfer=needs_at_import(self.program, module, "flashinfer"),
            strange=self._strange_methods(cls),
        )

    def _asking(self, module: str, cls_name: str, check: str) -> Callable[[Evaluator], Any]:
        method, parameter = HOOKS[check]

        def ask(evaluator: Evaluator) -> Any:
            cls = evaluator.global_name(module, cls_name)
            scope = Scope(module)
            try:
                function = evaluator.attribute(cls, method, _NODE, scope)
            except RaisedError as error:
                raise RaisedError("NoSuchMethod", method) from error
            keywords: dict[str, Any] = {}
            arguments: list[Any] = []
            if parameter == "*":
                keywords = self._combination(evaluator, function)
            elif parameter is not None:
                arguments = [self._input(evaluator, parameter)]
            value = evaluator.call(function, arguments, keywords, _NODE, scope)
            return value if check == "joint_rules" else evaluator.machine.truth(value)

        return ask

    @staticmethod
    def _input(evaluator: Evaluator, name: str) -> Any:
        if name == "sm":
            return capability(evaluator)
        if name == "dtype":
            return Sym("dtype", lambda dtype: External(f"torch.{dtype}"))
        return evaluator.machine.input(name)

    def _combination(self, evaluator: Evaluator, function: Any) -> dict[str, Any]:
        target = function.function if isinstance(function, Bound) else function
        names = list(_COMBINATION)
        if isinstance(target, FunctionValue) and isinstance(target.node, ast.FunctionDef):
            spec = target.node.args
            taken = [p.arg for p in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if p.arg not in ("cls", "self")]
            if spec.vararg is None and spec.kwarg is None:
                names = [name for name in names if name in taken]
        return {name: self._input(evaluator, "sm" if name == "device_capability" else name) for name in names}

    def _strange_methods(self, cls: ClassValue) -> list[Gate]:
        """Return methods that look like gates, that some class of the release defines, and that are not asked."""
        known = {method for method, _ in HOOKS.values()} | UNASKED
        found: list[Gate] = []
        for base in classes.linearise(cls):
            if not isinstance(base, ClassValue):
                continue
            parsed = self.program.module(base.module)
            for name, statements in classes.bindings(base.node).items():
                validates = name == "validate_configuration" and base.module != BASE
                if (
                    name.startswith(_GATE_PREFIXES) and name not in known and name != "validate_configuration"
                ) or validates:
                    text = digest(list(statements))
                    why = "overrides the selector's whole question" if validates else "a gate that nothing here asks"
                    found.append(
                        Gate(
                            file=parsed.file if parsed else "",
                            line=statements[0].lineno,
                            text=f"{base.name}.{name} [{text}]",
                            why=why,
                        )
                    )
        return found

    # ------------------------------------------------------------------------------------------ orders

    def _priorities(self) -> Reading | None:
        function = self._quick().global_name("vllm.platforms.cuda", "_get_backend_priorities")
        if not isinstance(function, FunctionValue) or not isinstance(function.node, ast.FunctionDef):
            self._lost("vllm/platforms/cuda.py", 0, "_get_backend_priorities", "the order of backends is not there")
            return None
        spec = function.node.args
        names = [p.arg for p in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
        for name in names:
            if name not in _PRIORITY:
                self._lost(
                    "vllm/platforms/cuda.py", function.node.lineno, name, "a parameter of the order that is not known"
                )

        def ask(evaluator: Evaluator) -> Any:
            here = evaluator.global_name("vllm.platforms.cuda", "_get_backend_priorities")
            given = {name: self._input(evaluator, _PRIORITY[name]) for name in names if name in _PRIORITY}
            value = evaluator.call(here, [], given, _NODE, Scope("vllm.platforms.cuda"))
            return [
                m.name if isinstance(m, EnumMember) else m
                for m in evaluator.iterate(value, _NODE, Scope("vllm.platforms.cuda"))
            ]

        return explore(self.program, self.environment, self.domains, ask)

    def _linear(self) -> tuple[Reading | None, dict[str, Reading]]:
        module = "vllm.model_executor.kernels.linear"
        if self._quick().global_name(module, "_POSSIBLE_NVFP4_KERNELS") is MISSING:
            return None, {}

        def listed(evaluator: Evaluator) -> list[Any]:
            table = evaluator.machine.concrete(evaluator.global_name(module, "_POSSIBLE_NVFP4_KERNELS"))
            scope = Scope(module)
            for key, kernels in table.items() if isinstance(table, dict) else ():
                if isinstance(key, EnumMember) and key.name == "CUDA":
                    return list(evaluator.iterate(kernels, _NODE, scope))
            evaluator.refuse(_NODE, scope, "the table of NVFP4 kernels")
            return None

        order = explore(self.program, self.environment, self.domains, listed)
        kernels: dict[str, Reading] = {}
        if len(order.paths) == 1 and isinstance(order.paths[0].result, list):
            for index, name in enumerate(order.paths[0].result):

                def ask(evaluator: Evaluator, index: int = index) -> Any:
                    cls = listed(evaluator)[index]
                    scope = Scope(module)
                    value = evaluator.call(evaluator.attribute(cls, "is_supported", _NODE, scope), [], {}, _NODE, scope)
                    supported, reason = evaluator.iterate(value, _NODE, scope)
                    return None if evaluator.machine.truth(supported) else reason

                kernels[str(name)] = explore(self.program, self.environment, self.domains, ask)
        return order, kernels


_NODE = ast.parse("gate", mode="eval").body
_COMBINATION = (
    "head_size",
    "dtype",
    "kv_cache_dtype",
    "block_size",
    "use_mla",
    "has_sink",
    "use_sparse",
    "use_mm_prefix",
    "device_capability",
)
_PRIORITY: Mapping[str, str] = {
    "use_mla": "use_mla",
    "device_capability": "sm",
    "num_heads": "num_qo_heads",
    "kv_cache_dtype": "kv_cache_dtype",
    "use_non_causal": "use_non_causal",
    "head_size": "head_size",
    "use_mm_prefix": "use_mm_prefix",
}
