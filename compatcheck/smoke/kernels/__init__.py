"""Every smoke kernel, once. Adding one is a file here and a line in the list."""

from __future__ import annotations

from compatcheck.smoke.kernels.base import SmokeKernel
from compatcheck.smoke.kernels.cudnn_attention import CudnnDecode, CudnnPrefill
from compatcheck.smoke.kernels.engine_route import EngineRoute
from compatcheck.smoke.kernels.fa_decode import Decode
from compatcheck.smoke.kernels.fa_paged_prefill import PagedPrefill
from compatcheck.smoke.kernels.fa_ragged_prefill import RaggedPrefill
from compatcheck.smoke.kernels.mla import MlaTrtllm, MlaWrapper
from compatcheck.smoke.kernels.mm_bf16_fp4 import MmBf16Fp4
from compatcheck.smoke.kernels.mm_fp4 import MmFp4
from compatcheck.smoke.kernels.nvfp4_activation import ActivationQuantise
from compatcheck.smoke.kernels.nvfp4_append import CsrAppend, MlaAppend, SlotMappingAppend
from compatcheck.smoke.kernels.nvfp4_dequantise import DequantiseFlat, DequantisePaged, QuantiseFlat
from compatcheck.smoke.kernels.nvfp4_quantise_paged import QuantisePaged
from compatcheck.smoke.kernels.plain_append import PlainAppend
from compatcheck.smoke.kernels.reference_gemm import ReferenceGemm
from compatcheck.smoke.kernels.reference_nvfp4 import ReferenceNvfp4
from compatcheck.smoke.kernels.torch_attention import Flex, Sdpa
from compatcheck.smoke.kernels.trtllm_gen import TrtllmGen
from compatcheck.smoke.kernels.xqa_decode import XqaDecode

KERNELS: list[SmokeKernel] = [
    SlotMappingAppend(),
    CsrAppend(),
    MlaAppend(),
    PlainAppend(),
    DequantisePaged(),
    DequantiseFlat(),
    QuantiseFlat(),
    ActivationQuantise(),
    QuantisePaged(),
    PagedPrefill("fa2"),
    PagedPrefill("fa3"),
    PagedPrefill("auto"),
    RaggedPrefill("fa2"),
    RaggedPrefill("fa3"),
    RaggedPrefill("auto"),
    RaggedPrefill("cutlass"),
    Decode("decode-fa2-tensor-cores", "fa2", tensor_cores=True, ids=("flashinfer.fa2.decode_tensor_cores",)),
    Decode("decode-fa2", "fa2", tensor_cores=False, ids=("flashinfer.fa2.decode", "flashinfer.fa2.decode_cuda_cores")),
    Decode("decode-fa3", "fa3", tensor_cores=True, ids=("flashinfer.fa3.decode",)),
    Decode("decode-auto", "auto", tensor_cores=True, ids=("flashinfer.auto.decode",)),
    XqaDecode(),
    TrtllmGen(decode=True),
    TrtllmGen(decode=False),
    CudnnPrefill(),
    CudnnDecode(),
    MlaWrapper("fa2"),
    MlaWrapper("fa3"),
    MlaWrapper("auto"),
    MlaWrapper("cutlass"),
    MlaTrtllm("trtllm-gen"),
    MlaTrtllm("xqa"),
    MmFp4("cutlass"),
    MmFp4("cudnn"),
    MmFp4("trtllm"),
    MmFp4("cute-dsl"),
    MmFp4("b12x"),
    MmFp4("auto"),
    MmBf16Fp4(),
    Sdpa("math"),
    Sdpa("flash"),
    Sdpa("efficient"),
    Sdpa("cudnn"),
    Flex(),
    EngineRoute(),
    ReferenceNvfp4(),
    ReferenceGemm(),
]

BY_NAME: dict[str, SmokeKernel] = {kernel.name: kernel for kernel in KERNELS}
