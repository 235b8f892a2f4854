"""What the matrix says of quantised linear layers: the engine's kernels, their order, and the options that choose."""

# ruff: noqa: RUF012 - the base is a msgspec.Struct, which copies mutable defaults; ruff cannot see that from here

from __future__ import annotations

from typing import Literal

from compatcheck.matrix.records import FactCase, JointRule, Limited, PriorityList, Source, Strict

Scheme = Literal["nvfp4_w4a4", "nvfp4_w4a16"]
Compute = Literal["native", "weight-only", "emulated"]


class LinearScheme(Strict, frozen=True, kw_only=True):
    """How a checkpoint quantises a layer: what is stored, and what is computed with."""

    title: str
    note: str | None = None
    sources: list[Source] = []


class LinearCompute(Strict, frozen=True, kw_only=True):
    """What a way of computing means for whoever serves the model."""

    title: str
    speed: str
    accuracy: str


class LinearKernel(Strict, frozen=True, kw_only=True):
    """One kernel class of the engine. N is the output and K the input features of a layer on one rank."""

    title: str
    since: str
    until: str | None = None
    """First release without it."""
    serves: list[Scheme]
    """Schemes of which it can compute a layer; a weight-only kernel serves W4A4 layers by leaving activations alone."""
    compute: Compute
    """native, weight-only or emulated; `Linear.compute` says what each means."""
    compute_where: list[FactCase] = []
    """Where it computes in another way: the value of the first line that holds, else `compute`."""
    gates: list[JointRule] = []
    """Why the engine refuses it, in its order; the first that holds speaks. None: it is always accepted."""
    extends: str | None = None
    """Another kernel whose gates it has too; the engine's class inherits them."""
    kernel: str | None = None
    """The library's kernel that it calls."""
    env: str | None = None
    """Its value of VLLM_NVFP4_GEMM_BACKEND, where releases had that."""
    multiple_of: int | None = None
    """K and N are padded to a multiple of this by the engine."""
    multiple_of_n: int | None = None
    """N is padded to a multiple of this, where it is another one than K's."""
    note: str | None = None
    sources: list[Source] = []


class LinearOption(Limited, frozen=True, kw_only=True):
    """A value of --linear-backend and the NVFP4 kernels that it names; none where it is meant for other layers."""

    kernels: list[str] = []


class LinearEnvValues(Limited, frozen=True, kw_only=True):
    """The values of VLLM_NVFP4_GEMM_BACKEND that some releases take, in the engine's order."""

    values: list[str]
    sources: list[Source] = []


class LinearWords(Limited, frozen=True, kw_only=True):
    """What the engine says in some releases; `{kernel}`, `{reason}` and fields are filled in."""

    words: str
    exception: str = "ValueError"
    exceptions: dict[str, str] = {}
    """Kernels about which it is said with another exception."""
    sources: list[Source] = []


class Linear(Strict, frozen=True, kw_only=True):
    """How the engine picks a kernel for a quantised linear layer.

    First `forced`: the first line that holds names the kernel, or none. Without one, the release's order is walked,
    narrowed to the kernels of --linear-backend where it is given, and the first kernel that no gate refuses is taken.
    """

    title: str
    schemes: dict[str, LinearScheme]
    compute: dict[str, LinearCompute]
    kernels: dict[str, LinearKernel]
    orders: list[PriorityList]
    forced: list[FactCase]
    options: dict[str, LinearOption]
    env_values: list[LinearEnvValues] = []
    """What VLLM_NVFP4_GEMM_BACKEND may be; releases without a line do not read it."""
    env_words: list[LinearWords] = []
    """VLLM_NVFP4_GEMM_BACKEND is none of them; `{value}` and `{values}` are filled in."""
    selected_words: str
    none_words: list[LinearWords]
    """No kernel is left; the reasons follow, one a line."""
    forced_words: list[LinearWords]
    """A forced kernel is refused by a gate."""
    scheme_words: list[LinearWords]
    """A forced kernel does not serve the layer's scheme."""
    disabled_words: list[LinearWords]
    """A kernel is named in VLLM_DISABLED_KERNELS; releases without a line do not read it for these layers."""
    unmatched_words: list[LinearWords]
    """--linear-backend names no kernel of the order, and the release refuses; others pick as if it were not given."""
    ignored_words: list[LinearWords] = []
    """The warning of a release that picks as if --linear-backend were not given; no exception."""
    overridden_words: list[LinearWords] = []
    """The warning where batch invariance overrides --linear-backend; no exception."""
    sources: list[Source] = []
