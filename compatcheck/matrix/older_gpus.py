"""GPUs older than every compute capability of the matrix, so that their names are understood and nothing is claimed.

NVIDIA publishes the compute capability of each GPU (https://developer.nvidia.com/cuda-legacy-gpus); the table follows
it. Not on that list, and given by their chips: K20X, M4, M10, P6 and V100S; the Kepler GPUs and Jetson TX1 were taken
from copies of earlier editions. Nothing is concluded from the table but that a GPU is not covered.
"""

from __future__ import annotations

OLDER_GPUS = {
    "3.5": ["K20", "K20X", "K40", "K6000"],
    "3.7": ["K80"],
    "5.0": ["M10", "GTX 750", "K2200"],
    "5.2": [
        *("M4", "M40", "M60", "M2000", "M4000", "M5000", "M6000"),
        *("GTX 950", "GTX 960", "GTX 970", "GTX 980", "GTX TITAN X"),
    ],
    "5.3": ["Jetson Nano", "Jetson TX1"],
    "6.0": ["P100", "GP100"],
    "6.1": [
        *("P4", "P6", "P40", "GTX 1050", "GTX 1060", "GTX 1070", "GTX 1080", "TITAN X", "TITAN Xp"),
        *("P1000", "P2000", "P2200", "P3000", "P3200", "P4000", "P4200", "P5000", "P5200", "P6000"),
    ],
    "6.2": ["Jetson TX2"],
    "7.0": ["V100", "V100S", "GV100", "TITAN V"],
    "7.2": ["Jetson AGX Xavier", "Jetson Xavier NX", "Xavier"],
}
"""Compute capability -> names it is sold under."""
