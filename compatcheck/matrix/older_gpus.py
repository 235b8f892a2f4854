"""GPUs older than every compute capability of the matrix, so that their names are understood and nothing is claimed.

NVIDIA publishes the compute capability of each GPU (https://developer.nvidia.com/cuda-legacy-gpus); that list was not
opened for this table, from which nothing is concluded but that a GPU is not covered.
"""

from __future__ import annotations

OLDER_GPUS = {
    "3.5": ["K20", "K20X", "K40"],
    "3.7": ["K80"],
    "5.0": ["M10", "GTX 750"],
    "5.2": ["M4", "M40", "M60", "GTX 960", "GTX 970", "GTX 980", "GTX TITAN X"],
    "5.3": ["Jetson Nano", "Jetson TX1"],
    "6.0": ["P100", "GP100"],
    "6.1": ["P4", "P6", "P40", "GTX 1050", "GTX 1060", "GTX 1070", "GTX 1080", "TITAN Xp", "P4000", "P5000", "P6000"],
    "6.2": ["Jetson TX2"],
    "7.0": ["V100", "V100S", "GV100", "TITAN V"],
    "7.2": ["Jetson AGX Xavier", "Jetson Xavier NX", "Xavier"],
}
"""Compute capability -> names it is sold under."""
