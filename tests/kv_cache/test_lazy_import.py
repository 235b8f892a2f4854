from __future__ import annotations

import subprocess
import sys

import pytest

import compatcheck.kv_cache as kv_cache


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_sizes_and_shapes_need_no_numpy() -> None:
    done = run(
        "import sys; import compatcheck.kv_cache as k\n"
        "assert k.bytes_per_token_head('nvfp4', 128) == 72\n"
        "k.kv_cache_shape('nvfp4', num_blocks=1, block_size=16, num_kv_heads=2, head_size=128)\n"
        "print(sorted({'numpy', 'torch'} & set(sys.modules)))"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_numpy_helpers_do_not_import_torch() -> None:
    done = run(
        "import sys, numpy; import compatcheck.kv_cache as k\n"
        "k.nvfp4_dequantize(*k.nvfp4_quantize(numpy.ones((2, 16), numpy.float32), 0.5), 0.5)\n"
        "k.interleave_v_scales(numpy.zeros((4, 4), numpy.uint8))\n"
        "k.nvfp4_page_views(numpy.zeros((1, 288), numpy.uint8), num_kv_heads=1, block_size=4, head_size=64)\n"
        "print('torch' in sys.modules)"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_missing_numpy_is_explained() -> None:
    done = run(
        "import sys; sys.modules['numpy'] = None\n"
        "import compatcheck.kv_cache as k\n"
        "try:\n    k.nvfp4_quantize\nexcept ImportError as error:\n    print(error)"
    )
    assert done.returncode == 0, done.stderr
    assert "pip install compatcheck[gpu]" in done.stdout
    assert "pip install numpy" in done.stdout


@pytest.mark.parametrize("name", kv_cache.__all__)
def test_every_public_name_resolves_and_is_listed(name: str) -> None:
    value = getattr(kv_cache, name)
    assert name in dir(kv_cache)
    if isinstance(value, type) or callable(value):
        assert value.__doc__


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"kv_cache.* has no attribute 'nvfp5'"):
        _ = kv_cache.nvfp5
