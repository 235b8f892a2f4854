"""Logs of installations, toolkits, drivers and builds as users pasted them: which rule is first, and what is not said.

Where no other thread is named, a text is taken from the thread whose number is beside it, shortened.
"""

from __future__ import annotations

import pytest

from compatcheck.explain.entries import entries
from compatcheck.explain.entry import Entry
from compatcheck.explain.match import find
from compatcheck.matrix.load import LoadedMatrix

CORE = "(EngineCore pid=3164713) ERROR 09-23 10:35:19 [core.py:1374] "
OLD = "(EngineCore_DP0 pid=15638) ERROR 01-05 12:12:01 [core.py:842] "
TP = "(Worker pid=1360047) (Worker_TP1 pid=1360047) ERROR 03-05 09:56:09 [multiproc_executor.py:880] "
JOURNAL = "Aug 19 18:34:27 vllm vllm[8727]: (EngineCore pid=8727) ERROR 08-19 18:34:27 [core.py:1349] "
DOCKER = "vllm-dspark-1  | (Worker_TP0 pid=336) "
RED, KEY, END = "\x1b[01;31m\x1b[K", "\x1b[01m\x1b[K", "\x1b[m\x1b[K"
FAILED = "RuntimeError: Ninja build failed. Ninja output:\n"
STOPPED = "ninja: build stopped: subcommand failed."

FIRST: dict[str, tuple[str, str]] = {
    "flashinfer#5479": (
        "fi-compress-mode-nvcc",
        (
            f"{CORE}{FAILED}FAILED: [code=1] csrc_renorm.cuda.o\n"
            f"{CORE} /usr/local/cuda/bin/nvcc -Xfatbin=-compress-all --compress-mode=size -c sampling.cu\n"
            f"{CORE}nvcc fatal   : Unknown option '--compress-mode=size'\n{CORE}{STOPPED}"
        ),
    ),
    "flashinfer#1658": ("nvcc-unknown-architecture", "nvcc fatal   : Unsupported gpu architecture 'compute_90a'"),
    "the same for SM 12.0": (
        "nvcc-unknown-architecture",
        f"{OLD}{FAILED}{OLD}nvcc fatal   : Unsupported gpu architecture 'compute_120a'\n{OLD}{STOPPED}",
    ),
    "jetson-containers#1186": ("fi-nvcc-sm10x-sm11x", "nvcc fatal   : Unsupported gpu architecture 'compute_100a'"),
    "triton#8539": (
        "ptxas-unknown-architecture",
        (
            f"{OLD}triton.runtime.errors.PTXASError: Internal Triton PTX codegen error\n"
            f"{OLD}ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"
        ),
    ),
    "tritonserver#8632": (
        "ptxas-unknown-architecture",
        (
            "NoTritonConfigsError: No valid triton configs. PTXASError: Internal Triton PTX codegen error\n"
            "ptxas-blackwell fatal   : Value 'sm_110a' is not defined for option 'gpu-name'"
        ),
    ),
    "llama.cpp#9205": (
        "nvcc-host-compiler-too-new",
        (
            "crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later "
            "than 12 are not supported! The nvcc flag '-allow-unsupported-compiler' can be used to override this check"
        ),
    ),
    "ProxmoxVED#2047": (
        "nvcc-headers-mismatch",
        (
            f"{JOURNAL}In file included from cuda/std/__cccl/builtin.h:26,\n{JOURNAL}toolkit.h:41:8: #error "
            f'"CUDA compiler and CUDA toolkit headers are incompatible, please check your include\n{JOURNAL} paths"'
        ),
    ),
    "flashinfer#3159": (
        "fi-cccl-not-first",
        (
            "2026-04-23T04:05:25.4057486Z /workspace/include/flashinfer/fastdiv.cuh(39): error: qualified name is not "
            "allowed\n2026-04-23T04:05:25.4058290Z     cuda::fast_mod_div<uint32_t> impl_;"
        ),
    ),
    "flashinfer#2203": (
        "fi-submodules-missing",
        f"x.cu:1:10: fatal error: cutlass/cutlass.h: No such file or directory\ncompilation terminated.\n{STOPPED}",
    ),
    "sglang#4169, coloured": (
        "toolkit-missing-headers",
        (
            f"{KEY}tensor_fill.h:52:10:{END} {RED}fatal error: {END}curand_kernel.h: No such file or directory\n"
            f"   52 | #include {RED}<curand_kernel.h>{END}\n{STOPPED}"
        ),
    ),
    "vllm#27890": (
        "python-headers-missing",
        f"/tmp/x/cuda_utils.c:5:10: {RED}fatal error: {END}Python.h: No such file or directory",
    ),
    "flashinfer#5064": (
        "toolkit-cannot-link",
        f"/usr/bin/ld.bfd: cannot find -lcudart: No such file or directory\n{STOPPED}",
    ),
    "vllm#16984": (
        "toolkit-cannot-link",
        "ERROR 04-22 21:41:28 [worker_base.py:598] /usr/bin/ld: cannot find -lcuda: No such file or directory",
    ),
    "vllm#36077": (
        "fi-cuda-home-wrong",
        (
            f"{TP}{FAILED}{TP}/bin/sh: 1: :/usr/local/cuda-12.8/bin/nvcc: not found\n{TP}{STOPPED}\n"
            "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 127"
        ),
    ),
    "LMCache#1925": ("fi-ninja-missing", f"{TP}FileNotFoundError: [Errno 2] No such file or directory: 'ninja'"),
    "flashinfer#3636": ("fi-build-out-of-memory", f"FAILED: [code=137] fp4_gemm.cuda.o\n{STOPPED}\n{CORE}{FAILED}"),
    "flashinfer#4763": (
        "fi-ninja-build-failed",
        f'{FAILED}sampling.cuh(623): error: class "cub::BlockAdjacentDifference" has no member "FlagHeads"\n{STOPPED}',
    ),
    "vllm#28440": (
        "fi-cache-not-writable",
        (
            "2025-11-11T02:42:39.924015483Z (EngineCore_DP0 pid=523) RuntimeError: Failed to generate Cutlass kernels: "
            "[Errno 13] Permission denied: '/.cache/flashinfer'"
        ),
    ),
    "flashinfer#2834": (
        "fi-cache-not-writable",
        f"{OLD}PermissionError: [Errno 13] Permission denied: '/x/dist-packages/flashinfer_cubin/cubins/flashinfer'",
    ),
    "flashinfer#2338": ("fi-cache-gone", f"{FAILED}ninja: error: opening build log: No such file or directory"),
    "no cache folder": (
        "fi-cache-gone",
        "FileNotFoundError: No such file or directory: '/root/.cache/flashinfer/0.6.4'",
    ),
    "flashinfer#3164": (
        "fi-cubin-download-failed",
        (
            "WARNING - cubin_loader.py:119 - flashinfer.jit: Downloading x/a.cubin: attempt 4 failed: 403 Client "
            "Error: Forbidden\nERROR - cubin_loader.py:128 - flashinfer.jit: Max retries reached. Download failed."
        ),
    ),
    "FunASR#2973": (
        "driver-too-old-for-torch",
        (
            f"{OLD}RuntimeError: The NVIDIA driver on your system is too old (found version 12080). Please update "
            "your GPU driver by downloading and installing a new version from http://www.nvidia.com/Download/index.aspx"
        ),
    ),
    "flashinfer#2546": ("cuda-insufficient-driver", "RuntimeError: CUDA error code=35(b'cudaErrorInsufficientDriver')"),
    "vllm#31700": (
        "ptx-newer-than-driver",
        (
            f"{OLD}    out, softmax_lse = torch.ops._vllm_fa2_C.varlen_fwd(\n{OLD}CUDA error: the "
            "provided PTX was compiled with an unsupported toolchain."
        ),
    ),
    "OCRFlux#70": (
        "torch-not-built-for-gpu",
        (
            "2025-08-13 04:39:39,465 - __main__ - INFO - NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not "
            "compatible with the current PyTorch installation.\n2025-08-13 04:39:39,837 - INFO - ERROR 08-13 "
            "04:39:39 engine.py:400] CUDA error: no kernel image is available for execution on the device"
        ),
    ),
    "vllm#30855": (
        "cuda-no-kernel-image",
        f"{OLD}torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
    ),
    "flashinfer#5355": ("cuda-no-kernel-image", "cudaErrorNoKernelImageForDevice (error code: 209)"),
    "flashinfer#3344": (
        "vllm-kernel-guard",
        (
            "This kernel only supports sm100f.\nThis kernel only supports sm100f.\nRuntimeError: CUDA error: "
            "CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(`"
        ),
    ),
    "dgx-vllm#9": (
        "vllm-kernel-guard",
        "This kernel only supports sm120.\ntorch.AcceleratorError: CUDA error: unspecified launch failure",
    ),
    "vllm#52300": (
        "libcudart-other-major",
        "    import vllm._C  # noqa\nImportError: libcudart.so.13: cannot open shared object file: No such file",
    ),
    "vllm#13608": (
        "extension-undefined-symbol",
        (
            "WARNING 06-13 11:42:20 _custom_ops.py:11] Failed to import from vllm._C with ImportError('/w/_C.abi3.so: "
            "undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSsb')"
        ),
    ),
    "vllm#30163": (
        "fi-fp4-gemm-cutlass-fails",
        f"{DOCKER}RuntimeError: [FP4 gemm Runner] Failed to run cutlass FP4 gemm on sm120. Error: Error Internal",
    ),
    "vllm#24377": (
        "fi-fp4-gemm-cutlass-fails",
        f"{OLD}RuntimeError: [FP4 gemm Runner] Failed to initialize cutlass FP4 gemm. Error: Error Internal",
    ),
    "as 0.7.4 prints it": (
        "fi-fp4-gemm-cutlass-fails",
        "[FP4 gemm RunnerStreamK] Failed to run cutlass FP4 gemm on sm120/sm121. Error: Error Internal",
    ),
    "flashinfer#2077": (
        "fi-cutlass-tactic-skipped",
        (
            "(Worker_PP0 pid=38385) 2025-11-11 06:41:27,319 - WARNING - autotuner.py:485 - jit: [Autotuner]: "
            "Skipping tactic <MoERunner object at 0x7c70> 15, due to failure while profiling: [TensorRT-LLM][ERROR] "
            "Assertion failed: Failed to initialize cutlass TMA WS grouped gemm. Error: Error Internal (x.cu:60)"
        ),
    ),
    "vllm#31740": (
        "fi-no-architecture-left",
        f"{OLD}RuntimeError: No supported CUDA architectures found for major versions [10].",
    ),
    "vllm#38423": ("cuda-illegal-instruction", "CUDA error: an illegal instruction was encountered"),
    "vllm#57712": (
        "triton-out-of-shared-memory",
        (
            "OutOfResources: out of resource: shared memory, Required: 98304, Hardware limit: 65536"
            ". Reducing block sizes or `num_stages` may help."
        ),
    ),
    "with the numbers of one case": (
        "vllm-triton-mla-fp8-sm12x-smem",
        "out of resource: shared memory, Required: 102400, Hardware limit: 101376. Reducing block sizes",
    ),
    "vllm#32109": (
        "vllm-no-compiled-kernel",
        f"{OLD}NotImplementedError: No compiled cutlass_scaled_mm for CUDA device capability: 120",
    ),
    "as 0.33.0's binary prints it": ("vllm-no-compiled-kernel", "No compiled nvfp4 quantization kernel for SM 121"),
    "flashinfer 0.7.4, jit/core.py": (
        "fi-jit-disabled",
        (
            "JIT compilation is disabled via FLASHINFER_DISABLE_JIT environment variable, but the "
            "required module is not found in the JIT cache."
        ),
    ),
    "triton, runtime/build.py": (
        "triton-no-compiler",
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
    ),
    "vllm 0.33.0, config/device.py": (
        "vllm-no-device",
        "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG`",
    ),
    "vllm 0.33.0, fa_utils.py": (
        "vllm-flash-attn-version",
        (
            "ERROR 09-12 10:00:00 [fa_utils.py:213] Cannot use FA version 3 is not supported due to FA3 is only "
            "supported on devices with compute capability 9.x"
        ),
    ),
    "verl-omni#506": ("fi-comm-python-3-11", "TypeError: type 'array.array' is not subscriptable"),
    "vllm#24486": (
        "fi-trtllm-gen-kernel-missing",
        (
            "RuntimeError: Error in function 'trtllm_paged_attention_launcher' at trtllm_fmha_kernel_launcher.cu:172: "
            "Missing TRTLLM-GEN kernel (context): qkvLayout=2, headDimQk=256, headDimV=256, numTokensPerPage=128"
        ),
    ),
    "flashinfer#1048": (
        "fi-fa2-invalid-configuration",
        "Error: Invalid configuration : NUM_MMA_Q=2 NUM_MMA_D_QK=2 NUM_MMA_D_VO=2 NUM_MMA_KV=4 NUM_WARPS_Q=4",
    ),
    "flashinfer#1796": (
        "fi-trtllm-gen-kernel-missing",
        "RuntimeError: Expect (32 <= headDim <= 2048) && (numTokensPerPage <= 128), got headDimPerCtaV=%d256256256544",
    ),
    "vllm#40082": (
        "cutlass-dsl-arch",
        ("(EngineCore pid=87) OpError: expects arch to be one of ['sm_120a'], but got Arch.sm_121a"),
    ),
    "cutlass#2802": ("cutlass-dsl-arch", "OpError: expects arch to be one of ['sm_100a', 'sm_100f'], but got sm_121a"),
    "vllm#50705": ("fi-sm12x-nvcc", "RuntimeError: No supported CUDA architectures found for major versions [12]."),
    "vllm#31843": (
        "fi-fa3-16bit-query-fp8-kv",
        (
            f'{OLD}mma_sm90.hpp(6108): error: static assertion failed with "MajorB must be GMMA::Major::K for this"\n'
            f"{OLD}{FAILED}"
        ),
    ),
    "vllm#31480": (
        "no-valid-backend",
        (
            "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, dty"
            ".bfloat16, kv_cache_dtype=auto, use_mla=True, use_sparse=True). Reasons: {FLASH_ATTN_MLA: "
            "[sparse not supported, compute capability not supported, FlashAttention MLA not supported on this], "
            "FLASHMLA: [sparse not supported, compute capability not supported], TRITON_MLA: [sparse not supported]}."
        ),
    ),
}


@pytest.fixture(scope="module")
def index(loaded: LoadedMatrix) -> list[Entry]:
    return entries(loaded)


@pytest.mark.parametrize("thread", FIRST)
def test_first(index: list[Entry], thread: str) -> None:
    first, text = FIRST[thread]
    assert [match.entry.id for match in find(index, text)][:1] == [first]


def test_a_failed_build_names_no_cause_by_itself(index: list[Entry]) -> None:
    found = find(index, f"{CORE}{FAILED}{CORE}{STOPPED}")
    assert [match.entry.id for match in found] == ["fi-ninja-build-failed"]
    assert found[0].entry.symptom
    assert found[0].how == "words that several causes print"


def test_shared_terms_are_not_told_beside_words(index: list[Entry]) -> None:
    """fi-nvcc-sm10x-sm11x shares every term with this text but one, and its condition leaves SM 9.0 out."""
    found = find(index, "nvcc fatal   : Unsupported gpu architecture 'compute_90a'", limit=50)
    assert [match.entry.id for match in found] == ["nvcc-unknown-architecture"]


def test_a_value_does_not_reach_into_the_next_reason(index: list[Entry]) -> None:
    """The prefill selector prints 'compute capability 8.0 not supported', the attention selector no number."""
    _, text = FIRST["vllm#31480"]
    assert "mla-prefill-sm" not in {match.entry.id for match in find(index, text, limit=50)}
    assert find(index, "FLASHINFER: [compute capability 8.0 not supported]")[0].entry.id == "mla-prefill-sm"


def test_a_rule_that_names_a_cause_goes_before_a_symptom() -> None:
    names = Entry(id="z-names", kind="advisory", title="names it", words=("cannot find it",))
    general = Entry(
        id="a-general", kind="rule", title="in general", words=("the whole long sentence of it",), symptom=True
    )
    text = "the whole long sentence of it, and somewhere: cannot find it"
    assert [match.entry.id for match in find([general, names], text)] == ["z-names", "a-general"]


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: /x/site-packages/foo/_C.so: undefined symbol: _ZN6format8to_chartEv",
        "PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface/hub'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/root/.cache/huggingface/hub/model'",
        "fatal error: mylib.h: No such file or directory",
        "bash: cmake: command not found",
    ],
)
def test_what_only_looks_alike(index: list[Entry], text: str) -> None:
    assert find(index, text) == []
