"""The reference NVFP4 quantiser in torch, so that a large cache can be made on the GPU.

Same arithmetic as `compatcheck.kv_cache.nvfp4_quantize` (numpy), which it is tested against bit for bit.
"""

from __future__ import annotations

from typing import Any

_LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BLOCK = 16


def decode_scale(x: Any) -> float:
    """Return the global decode scale that uses E4M3's whole range: amax / (6 * 448), rounded to float32."""
    import torch

    return float((x.abs().amax().float() / (6.0 * 448.0)).to(torch.float32).clamp_min(1e-30))


def quantize(x: Any, scale: float) -> tuple[Any, Any]:
    """Return (data [..., D/2] uint8, scales [..., D/16] float8_e4m3fn) of a floating tensor [..., D].

    Byte i holds element 2i in its low nibble. Each block of 16 has the scale E4M3(amax / (6 * scale)).
    """
    import torch

    g = torch.tensor(scale, dtype=torch.float32, device=x.device)
    blocks = x.float().unflatten(-1, (-1, _BLOCK))
    amax = blocks.abs().amax(-1)
    ratio = torch.where(amax > 0, amax / (6.0 * g), torch.zeros_like(amax))
    scales = ratio.clamp(max=448.0).to(torch.float8_e4m3fn)
    rounded = scales.float()
    usable = (amax > 0) & (rounded > 0)
    inverse = torch.where(usable, 1.0 / (rounded * g), torch.zeros_like(rounded))
    scaled = blocks * inverse.unsqueeze(-1)
    size = scaled.abs()
    # Halfway values go to the even code.
    code = (
        (size > 0.25).int()
        + (size >= 0.75).int()
        + (size > 1.25).int()
        + (size >= 1.75).int()
        + (size > 2.5).int()
        + (size >= 3.5).int()
        + (size > 5.0).int()
    )
    code = (code | (torch.signbit(scaled).int() << 3)).to(torch.uint8).flatten(-2)
    return (code[..., 0::2] | (code[..., 1::2] << 4)).contiguous(), scales


def dequantize(data: Any, scales: Any, scale: float) -> Any:
    """Return float32 values [..., D]: e2m1 * block scale * global scale, scales linear."""
    import torch

    table = torch.tensor([*_LEVELS, *(-level for level in _LEVELS)], device=data.device)
    values = torch.stack([table[(data & 0xF).long()], table[(data >> 4).long()]], dim=-1).flatten(-2)
    block = scales.view(torch.float8_e4m3fn).float() if scales.dtype == torch.uint8 else scales.float()
    g = torch.tensor(scale, dtype=torch.float32, device=data.device)
    return values * block.repeat_interleave(_BLOCK, dim=-1) * g
