"""The typed matrix: what matrix.yaml may say, and nothing else.

Every section is a mapping keyed by id, so that an overlay can extend or replace one entry by name.
Facts about an engine's backend are *grants* (``values`` that are accepted, ``when`` a condition holds) or
*flags* (true, false, or a condition); everything that refuses, warns or is known to be broken is a `Rule`.
Conditions are plain mappings (see `compatcheck.resolve.conditions`): no expression is ever evaluated.
"""

# ruff: noqa: RUF012 - the base is a msgspec.Struct, which copies mutable defaults; ruff cannot see that from here

from __future__ import annotations

from typing import Literal

from compatcheck.matrix.linear_model import Linear
from compatcheck.matrix.records import Condition as Condition
from compatcheck.matrix.records import Constraint as Constraint
from compatcheck.matrix.records import FactCase as FactCase
from compatcheck.matrix.records import Flag as Flag
from compatcheck.matrix.records import JointRule as JointRule
from compatcheck.matrix.records import Limited as Limited
from compatcheck.matrix.records import ModelSetting as ModelSetting
from compatcheck.matrix.records import PriorityCase as PriorityCase
from compatcheck.matrix.records import PriorityList as PriorityList
from compatcheck.matrix.records import Source as Source
from compatcheck.matrix.records import Strict as Strict

Bites = Literal["config", "selection", "init", "first-request", "silent"]
RuleBites = Literal[Bites, "first_prefill", "first_decode"]
"""Of what every prefill or every decode meets, it is a derived fact that says when: `init`, else the first request."""
Refuser = Literal["engine", "library", "hardware", "toolkit", "package", "advisory"]
Effect = Literal["unsupported", "degraded", "note"]
Settling = Literal["windows", "model_runner", "pages"]
"""What of a launch settles a rule: its layers' windows, the model runner that serves it, how its layers share pages."""


# --------------------------------------------------------------------------------------------- axes


class Sm(Strict, frozen=True, kw_only=True):
    """One compute capability, such as 9.0."""

    family: str
    arch: str
    gpus: list[str]
    smem_kib: int | None = None
    """Largest shared memory of one thread block, KiB (CUDA C++ programming guide, compute capabilities)."""
    instead_of_bfloat16: str | None = None
    """What `--dtype auto` makes of a bfloat16 model where the engine refuses bfloat16; None where it runs."""
    note: str | None = None
    """What holds of every answer about it, such as which of the engine's wheels have code for it."""
    sources: list[Source] = []


class KvCacheDtype(Strict, frozen=True, kw_only=True):
    """A KV-cache dtype under the engine's name for it."""

    title: str
    storage: str | None = None
    """torch dtype of the cache tensor; None where it is the model's own dtype."""
    bits: str | None = None
    """Stored bits per element, scales included, as a fraction such as '9/2'; None where it depends."""
    quantised: bool = False
    scale_layout: str | None = None
    bytes_per_token_head: str | None = None
    """Formula over D (head size), for people."""
    mla_only: bool = False
    checkpoint_algorithms: list[str] = []
    """`kv_cache_quant_algo` values of a checkpoint that `auto` turns into this dtype."""
    note: str | None = None
    sources: list[Source] = []


# --------------------------------------------------------------------------------- engine and backends


class Grant(Strict, frozen=True, kw_only=True):
    """Values that are accepted, always or where `when` holds."""

    values: Constraint
    when: Condition | None = None


Grants = list[Grant]


class BackendFacts(Strict, frozen=True, kw_only=True):
    """What one backend states; None means not stated here (the base entry, or the engine's default, decides)."""

    dtypes: list[str] | None = None
    kv_cache_dtypes: Grants | None = None
    head_sizes: Grants | None = None
    block_sizes: Grants | None = None
    """Kernel block sizes; a block size is accepted if it is a multiple of one of them."""
    block_size_match: Literal["multiple", "exact"] | None = None
    sms: Flag | None = None
    mla: bool | None = None
    sparse: bool | None = None
    sinks: Flag | None = None
    mm_prefix: Flag | None = None
    sliding_window: Flag | None = None
    non_causal: Flag | None = None
    non_causal_dcp: Flag | None = None
    batch_invariance: Flag | None = None
    kv_connector: Flag | None = None
    per_head_quant_scales: Flag | None = None
    rswa: Flag | None = None
    pcp: Flag | None = None
    dcp: Flag | None = None
    query_lens_mismatch: Flag | None = None
    attn_types: list[str] | None = None
    mla_dimensions: list[list[int]] | None = None
    """MLA prefill: accepted [qk_nope_head_dim, qk_rope_head_dim, v_head_dim]; None or empty is any."""
    mla_dimensions_named: bool | None = None
    """MLA prefill: whether the refusal lists the accepted dimensions."""
    import_rules: list[JointRule] | None = None
    """Where one holds, the backend's module cannot be imported: its words are all that the selector says."""
    joint_rules: list[JointRule] | None = None
    missing_dependency: Condition | None = None
    """MLA prefill: where this holds, the backend's package is not there."""
    unasked: Flag | None = None
    """Where this holds, the model makes layers of this backend by itself and does not ask the selector."""
    answered_by_model: list[str] | None = None
    """Codes of the selector's refusals that stop nothing where `unasked` holds, since the model answers them itself."""
    unimportable: str | None = None
    """The engine lists the backend but cannot import it: its words."""
    sources: list[Source] = []


class BackendChange(BackendFacts, frozen=True, kw_only=True):
    """What a release changed; every field given replaces the earlier one."""

    since: str


class Backend(BackendFacts, frozen=True, kw_only=True):
    """One attention backend of an engine, as of its first covered release, and what changed later."""

    title: str
    since: str
    until: str | None = None
    """First release without it."""
    extends: str | None = None
    """Another backend whose facts hold where this one states none."""
    members: list[str] = []
    """A composite: dtypes, KV dtypes, head sizes, SMs and joint rules must hold for each member too.

    Only the first takes image masks: the others' joint rules are asked as if `use_mm_prefix` were false.
    """
    member_words: str | None = None
    cls: str | None = None
    changes: list[BackendChange] = []


def rules_of(layer: BackendFacts) -> list[JointRule]:
    """Return a backend's (or a change's) refusals with a code of their own: failed imports, then combinations."""
    return [*(layer.import_rules or []), *(layer.joint_rules or [])]


class SelectorCheck(Strict, frozen=True, kw_only=True):
    """One question of the engine's selector, in its order, with the words of its refusal."""

    check: str
    code: str
    words: str
    since: str | None = None
    until: str | None = None


class FactList(Strict, frozen=True, kw_only=True):
    """The decision list since a release."""

    since: str
    cases: list[FactCase]
    sources: list[Source] = []


class DerivedFact(Strict, frozen=True, kw_only=True):
    """A fact that the engine computes from others, such as the FlashAttention version it will use."""

    title: str
    versions: list[FactList]


class RouteCase(Strict, frozen=True, kw_only=True):
    """Which kernels a backend uses where `when` holds."""

    when: Condition
    route: str


class Route(Strict, frozen=True, kw_only=True):
    """Kernels per phase, and the data formats between them."""

    title: str
    kv_write: str | None = None
    prefill: str | None = None
    decode: str | None = None
    query_dtype: str | None = None
    output_dtype: str | None = None
    scale_layout: str | None = None
    page_layout: str | None = None
    head_sizes: list[int] = []
    note: str | None = None
    sources: list[Source] = []


class Release(Strict, frozen=True, kw_only=True):
    """One release of the engine and what it pins."""

    flashinfer: str
    torch: str
    cuda: str | None = None
    """CUDA version that its own wheel and image are built with (vllm/envs.py:VLLM_MAIN_CUDA_VERSION)."""
    date: str | None = None


class ModelTypes(Strict, frozen=True, kw_only=True):
    """Model types treated as MLA from a release on; a release has those of every entry that covers it."""

    since: str
    until: str | None = None
    types: list[str]
    sources: list[Source] = []


class KvDtypeList(Strict, frozen=True, kw_only=True):
    """KV-cache dtypes the engine's option accepts, since a release."""

    since: str
    values: list[str]
    sources: list[Source] = []


class Engine(Strict, frozen=True, kw_only=True):
    """A serving engine, its releases and everything its selector decides."""

    title: str
    releases: dict[str, Release]
    kv_cache_dtypes: list[KvDtypeList]
    defaults: BackendFacts
    """What the engine's base class answers where a backend states nothing."""
    selector: list[SelectorCheck]
    prefill_selector: list[SelectorCheck]
    selector_sources: list[Source] = []
    prefill_selector_sources: list[Source] = []
    facts: dict[str, DerivedFact]
    backends: dict[str, Backend]
    other_backends: dict[str, str] = {}
    """Names of the engine's registry that are no CUDA backends -> what each is."""
    plugin_backends: dict[str, str] = {}
    """Names of the engine's registry behind which a plugin puts a class of its own -> what each is."""
    mla_prefill_backends: dict[str, Backend]
    other_mla_prefill_backends: dict[str, str] = {}
    """Names of the engine's registry that are no MLA prefill backends for CUDA -> what each is."""
    priorities: list[PriorityList]
    mla_prefill_priorities: list[PriorityList]
    mla_model_types: list[ModelTypes]
    model_settings: list[ModelSetting] = []
    """What the engine sets by itself for some model families, in its order."""
    routes: dict[str, Route]
    routing: list[RouteCase]
    forced_words: str
    none_words: str
    unknown_dtype_words: list[str] = []
    """What the option's parser and the configuration say of a KV-cache dtype that the release does not know."""
    unknown_backend_words: list[str] = []
    linear: Linear | None = None
    """Kernels of quantised linear layers, and how the engine picks one."""


# --------------------------------------------------------------------------------------------- kernels


class Refusal(Strict, frozen=True, kw_only=True):
    """How a library refuses: exception type and a regular expression over its text."""

    code: str
    when: Condition
    exception: str
    match: str
    versions: str | None = None
    outcome: Literal["refused", "compile-error"] = "refused"
    bites: Bites = "first-request"
    why: str | None = None
    fix: str | None = None
    sources: list[Source] = []


class Kernel(Strict, frozen=True, kw_only=True):
    """An implementation in a library that can be called without the engine."""

    title: str
    library: str
    symbol: str
    since: str | None = None
    """First version that has the symbol; its pre-releases count, see `uncertain`."""
    until: str | None = None
    uncertain: str | None = None
    """Versions of which some builds have the symbol and some do not (nightlies)."""
    phase: Literal["write", "prefill", "decode", "dequantise", "quantise", "gemm"]
    sms: list[str]
    q_dtypes: list[str] = []
    kv_dtypes: Grants = []
    o_dtypes: list[str] = []
    head_sizes: Grants = []
    page_sizes: Grants = []
    layouts: list[str] = []
    features: list[str] = []
    scale_layout: str | None = None
    needs: list[str] = []
    refusals: list[Refusal] = []
    tolerance: dict[str, float] = {}
    """Largest relative error ||out - ref|| / ||ref|| by KV dtype, reference in fp32 on the dequantised cache."""
    query_tolerance: dict[str, float] = {}
    """The same where the query has this dtype, if that is more: an 8-bit query makes a kernel quantise its weights."""
    note: str | None = None
    sources: list[Source] = []


# ----------------------------------------------------------------------------------------------- rules


class Rule(Strict, frozen=True, kw_only=True):
    """A refusal after or before selection, or an advisory: a combination known to be bad that gates let through."""

    title: str
    refuser: Refuser
    bites: RuleBites
    effect: Effect
    when: Condition
    why: str
    fix: str
    sources: list[Source]
    words: list[str] = []
    """What a user sees, verbatim or as a regular expression between slashes; the first is the message's own."""
    exception: str | None = None
    subject: str | None = None
    """Rules with one subject are alternatives: their versions may neither overlap nor leave a gap."""
    versions: str | None = None
    """Range of the subject's own version axis, PEP 440."""
    clear: str | None = None
    """Versions of the subject of which nothing is to be said; they count as covered."""
    axis: Literal["engine_version", "flashinfer_version", "torch_version", "cuda_version"] = "engine_version"
    kernels: list[str] = []
    """Only where the route uses one of these; for `kind: linear`, where one of these computes the layer."""
    as_given: bool = False
    """Asked of the configuration as it was given: `backend` is the one that was forced, absent where none was."""
    kind: Literal["attention", "linear"] = "attention"
    """What it speaks of: attention, or a quantised linear layer."""
    symptom: bool = False
    """Its words are printed for several causes: `explain` puts it behind every rule that names one of them."""
    varies: str | None = None
    """Of a silent advisory: what it depends on that `when` cannot say, so that it need not show; a noun phrase."""
    settled_by: Settling | None = None
    """A rule for whoever knows one kind of layers: a whole launch says itself whether the case is there."""
    history: list[str] = []
    recheck: str | None = None
    confirmed: Literal["run", "reported", "reading", "predicted"] = "reading"


class Library(Strict, frozen=True, kw_only=True):
    """A kernel library and its known releases, oldest first."""

    title: str
    releases: list[str]


class Matrix(Strict, frozen=True, kw_only=True):
    """The whole matrix."""

    schema: Literal[1]
    include: list[str] = []
    """Further files of this matrix, relative to it; each section may go on in any of them, nothing is said twice."""
    sms: dict[str, Sm]
    kv_cache_dtypes: dict[str, KvCacheDtype]
    libraries: dict[str, Library]
    engines: dict[str, Engine]
    kernels: dict[str, Kernel]
    rules: dict[str, Rule]
