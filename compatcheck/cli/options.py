"""Options that several commands share; configuration fields become options by their own names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from compatcheck.cli.complain import complain
from compatcheck.cli.exit_codes import USAGE
from compatcheck.cli.fields import ALIASES, FLAGS, INTEGERS, configuration_of, option_of
from compatcheck.resolve.configuration import FIELDS, Configuration

if TYPE_CHECKING:
    from compatcheck.matrix.load import Checks, LoadedMatrix

F = TypeVar("F", bound=Callable[..., Any])

HELP = {
    "engine_version": "vLLM release, such as 0.33.0.",
    "flashinfer_version": "FlashInfer version; default: installed here, else what the release pins.",
    "sm": 'Compute capability (9.0, sm_90) or GPU name ("H200").',
    "backend": "Forced attention backend, such as FLASHINFER; without it, what would be selected.",
    "kv_cache_dtype": "KV-cache dtype, such as nvfp4 or fp8.",
    "head_size": "Head size in elements.",
    "block_size": "KV-cache block size in tokens.",
    "num_qo_heads": "Query heads of one rank, after tensor parallelism.",
    "num_kv_heads": "KV heads of one rank, after tensor parallelism.",
    "use_spec_decode": "Whether tokens are drafted and verified, by whatever method.",
    "cudagraph_mode": "cudagraph_mode of the compilation configuration; NONE with --enforce-eager.",
    "use_v2_model_runner": "Whether the V2 model runner serves; default: as the release does, all models from 0.29 on.",
    "has_flashinfer": "Whether flashinfer-python is installed; default: yes, unless this host says otherwise.",
    "flashinfer_imports": "Whether `import flashinfer` works; default: yes, unless this host's packages are mixed.",
    "can_compile": "Whether FlashInfer finds nvcc, ninja and a C++ compiler; default: yes, unless this host has none.",
    "has_jit_cache": "Whether a flashinfer-jit-cache that matches is installed; default: no, unless this host has one.",
    "linear": "Ask about a quantised linear layer instead of attention: nvfp4_w4a4 or nvfp4_w4a16.",
    "linear_backend": "vLLM's --linear-backend.",
    "nvfp4_gemm_backend": "Value of VLLM_NVFP4_GEMM_BACKEND.",
    "use_fbgemm": "Whether VLLM_USE_FBGEMM is set.",
    "use_nvfp4_ct_emulations": "Whether VLLM_USE_NVFP4_CT_EMULATIONS is set.",
    "disabled_kernels": "Value of VLLM_DISABLED_KERNELS: class names with commas.",
    "in_features": "Input features (K) of the layer on one rank.",
    "out_features": "Output features (N) of the layer on one rank.",
}


def configuration_options(command: F) -> F:
    """Add an option for every configuration field."""
    for name in reversed(FIELDS):
        dashed = option_of(name)
        if name in FLAGS:
            decorate = click.option(f"{dashed}/--no-{dashed[2:]}", name, default=None, help=HELP.get(name))
        else:
            kind: Any = int if name in INTEGERS else str
            decorate = click.option(dashed, *ALIASES.get(name, ()), name, type=kind, default=None, help=HELP.get(name))
        command = decorate(command)
    return command


def matrix_options(command: F) -> F:
    """Add --matrix and --overlay."""
    path = click.Path(path_type=Path)
    command = click.option(
        "--overlay", "overlays", type=path, multiple=True, help="Site facts merged over the matrix."
    )(command)
    return click.option("--matrix", "matrix_file", type=path, default=None, help="Another matrix file.")(command)


def given_configuration(values: dict[str, Any]) -> Configuration:
    """Return the configuration of the options that were given. Raises `click.UsageError` for a malformed one."""
    try:
        return configuration_of(values)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def load_matrix(matrix_file: Path | None, overlays: tuple[Path, ...], *, aside: Checks | None = None) -> LoadedMatrix:
    """Return the matrix; print every problem and leave with exit code 2 where it cannot be used.

    With `aside` it may still be being checked: `check_matrix` waits for that.
    """
    from compatcheck.matrix.load import load

    with _said():
        return load(matrix_file, overlays, aside=aside)


def check_matrix(loaded: LoadedMatrix) -> None:
    """Wait until it is known that a matrix can be used; print every problem and leave with exit code 2 otherwise."""
    with _said():
        loaded.checked()


@contextmanager
def _said() -> Iterator[None]:
    from compatcheck.matrix.errors import MatrixError

    try:
        yield
    except MatrixError as error:
        complain(str(error), lines=True)
        raise click.exceptions.Exit(USAGE) from error
