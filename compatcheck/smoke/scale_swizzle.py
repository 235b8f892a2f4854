"""The 128x4 layout of NVFP4 block scales that FP4 tensor cores read, and its inverse.

Scales [rows, K/16] are padded to multiples of 128 rows and 4 columns and stored tile by tile, 128 rows by 4 columns
each, tiles row by row. Inside a tile, scale (r, c) lies at byte (r % 32) * 16 + (r // 32) * 4 + c: the four bands of
32 rows are interleaved. Source: swizzle_blockscale in vllm/model_executor/layers/quantization/utils/nvfp4_utils.py
(0.33.0), after the CUDA PTX ISA's layout of tcgen05 scale factors; FlashInfer calls it SfLayout.layout_128x4.
"""

from __future__ import annotations

from typing import Any

TILE_ROWS = 128
TILE_COLUMNS = 4
_BANDS = 32


def padded_shape(rows: int, columns: int) -> tuple[int, int]:
    """Return the shape of the stored scales: whole tiles."""
    return -(-rows // TILE_ROWS) * TILE_ROWS, -(-columns // TILE_COLUMNS) * TILE_COLUMNS


def offsets(rows: int, columns: int) -> Any:
    """Return where each scale lies in the stored bytes: int64 [rows, columns]."""
    import numpy as np

    r, c = np.arange(rows)[:, None], np.arange(columns)[None, :]
    _, full_columns = padded_shape(rows, columns)
    tile = r // TILE_ROWS * (full_columns // TILE_COLUMNS) + c // TILE_COLUMNS
    inside = (
        r % _BANDS * (TILE_ROWS // _BANDS * TILE_COLUMNS) + r % TILE_ROWS // _BANDS * TILE_COLUMNS + c % TILE_COLUMNS
    )
    return tile * (TILE_ROWS * TILE_COLUMNS) + inside


def swizzle(scales: Any, *, fill_rows: int = 0) -> Any:
    """Return scales [rows, columns] (8-bit, torch) as uint8 in the 128x4 layout, shaped as `padded_shape`.

    Padding columns hold 0. Padding rows hold `fill_rows`: their products are outside the output, so whatever stands
    there must not matter.
    """
    import torch

    rows, columns = scales.shape
    full_rows, full_columns = padded_shape(rows, columns)
    padded = torch.zeros(full_rows, full_columns, dtype=torch.uint8, device=scales.device)
    padded[:rows, :columns] = scales.view(torch.uint8)
    padded[rows:] = fill_rows
    where = torch.from_numpy(offsets(full_rows, full_columns)).to(scales.device)
    stored = torch.empty(full_rows * full_columns, dtype=torch.uint8, device=scales.device)
    stored[where.reshape(-1)] = padded.reshape(-1)
    return stored.view(full_rows, full_columns)


def unswizzle(stored: Any, rows: int, columns: int) -> Any:
    """Return the scales [rows, columns] (uint8) of a 128x4 buffer: the inverse of `swizzle`. Raises `ValueError`."""
    import torch

    needed = padded_shape(rows, columns)
    if stored.numel() != needed[0] * needed[1]:
        raise ValueError(
            f"128x4 scales of {rows} x {columns} take {needed[0]} x {needed[1]} = {needed[0] * needed[1]} bytes, "
            f"found {stored.numel()}; pass the padded buffer and the logical shape"
        )
    where = torch.from_numpy(offsets(rows, columns)).to(stored.device)
    return stored.reshape(-1).view(torch.uint8)[where.reshape(-1)].view(rows, columns)
