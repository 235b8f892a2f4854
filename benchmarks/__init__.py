"""Measurements, reported as ratios within one run; no test depends on a time."""
