"""numpy arrays and torch tensors behind one small set of operations; torch is never imported here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from compatcheck.kv_cache._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_torch(x: Any) -> bool:
    """Whether x is a torch tensor: only possible where the caller has imported torch already."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def shape_of(x: Any) -> tuple[int, ...]:
    """Shape as plain integers."""
    return tuple(int(n) for n in x.shape)


def require_uint8(x: Any, what: str) -> None:
    """Refuse anything but a numpy array or torch tensor of dtype uint8 (TypeError)."""
    if is_torch(x):
        if x.dtype == sys.modules["torch"].uint8:
            return
        found = str(x.dtype)
    elif isinstance(x, np.ndarray):
        if x.dtype == np.uint8:
            return
        found = f"numpy {x.dtype}"
    else:
        found = type(x).__name__
    raise TypeError(f"{what} must be a numpy array or torch tensor of dtype uint8, got {found}")


def byte_strides(x: Any) -> tuple[int, ...]:
    """Strides of a uint8 array or tensor; elements and bytes are the same there."""
    return tuple(int(s) for s in (x.stride() if is_torch(x) else x.strides))


def strided_view(x: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """View of a uint8 array or tensor's own memory: offset and strides in bytes from its first element."""
    if is_torch(x):
        return x.as_strided(shape, strides, x.storage_offset() + offset)
    if 0 in shape:
        return x.reshape(-1).reshape(shape)
    # numpy's as_strided takes no offset, so the view starts from a flat window over the bytes it spans.
    end = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
    flat = np.lib.stride_tricks.as_strided(x, (end,), (1,))
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, strides)


def as_float32(x: Any, what: str) -> NDArray[np.float32]:
    """Values as a float32 numpy array: exact for float16, bfloat16 and the float8 types, rounded for float64.

    Raises TypeError unless x is a floating numpy array (ml_dtypes' bfloat16 included) or torch tensor.
    """
    if is_torch(x):
        if not x.dtype.is_floating_point:
            raise TypeError(f"{what} must be floating point, got {x.dtype}")
        result: NDArray[np.float32] = x.detach().cpu().float().numpy()
        return result
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{what} must be a numpy array or torch tensor, got {type(x).__name__}")
    if x.dtype.kind != "f" and x.dtype.name != "bfloat16":
        raise TypeError(f"{what} must be floating point, got numpy {x.dtype}")
    # A float64 beyond float32 becomes infinite, and a signalling NaN quiet, as they would on the GPU.
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(np.float32)


def as_codes(x: Any, what: str) -> NDArray[np.uint8]:
    """Bytes as a uint8 numpy array, from uint8 or from torch's and ml_dtypes' float8_e4m3fn (bits kept)."""
    if is_torch(x):
        torch = sys.modules["torch"]
        if x.dtype not in (torch.uint8, torch.float8_e4m3fn):
            raise TypeError(f"{what} must be uint8 or float8_e4m3fn, got {x.dtype}")
        result: NDArray[np.uint8] = x.detach().view(torch.uint8).cpu().numpy()
        return result
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{what} must be a numpy array or torch tensor, got {type(x).__name__}")
    if x.dtype != np.uint8 and x.dtype.name != "float8_e4m3fn":
        raise TypeError(f"{what} must be uint8 or float8_e4m3fn, got numpy {x.dtype}")
    return x.view(np.uint8)


def like(result: NDArray[Any], original: Any, torch_dtype: str | None = None) -> Any:
    """Give a result the kind of the original input: numpy, or torch on its device, viewed as torch_dtype."""
    if not is_torch(original):
        return result
    torch = sys.modules["torch"]
    tensor = torch.from_numpy(np.ascontiguousarray(result))
    return (tensor if torch_dtype is None else tensor.view(getattr(torch, torch_dtype))).to(original.device)
