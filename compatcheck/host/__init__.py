"""What a host has, and what is wrong with it. Decides nothing about compatibility: the resolver does.

`collect()` returns a `Host`; `compatcheck.host.problems.diagnose(host)` returns its problems, each with a fix.

GPUs through NVML, the CUDA toolkit as FlashInfer would resolve it, packages by metadata and files. torch,
flashinfer and vllm are never imported.
"""

from compatcheck.host.collect import collect
from compatcheck.host.document import HostFileError, dump_host, load_host, parse_host, save_host
from compatcheck.host.model import Gpu, Host, Package, Problem, Toolkit

__all__ = [
    "Gpu",
    "Host",
    "HostFileError",
    "Package",
    "Problem",
    "Toolkit",
    "collect",
    "dump_host",
    "load_host",
    "parse_host",
    "save_host",
]
