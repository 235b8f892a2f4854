"""The GPU of a cloud's instance type, as nodes of a cluster carry it: `node.kubernetes.io/instance-type: p5.48xlarge`.

Source: the table of accelerated instance types in source/cloud/aws/index.md of rapidsai/deployment. Families that it
does not list are not guessed.
"""

from __future__ import annotations

LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
FAMILIES = {
    "p5": "H100",
    "p4d": "A100",
    "p3": "V100",
    "p3dn": "V100",
    "g6": "L4",
    "gr6": "L4",
    "g5": "A10G",
    "g4dn": "T4",
}
"""Family of AWS' instance types -> its GPU."""


def gpu_of_instance(name: str) -> str | None:
    """Return the GPU of an instance type such as 'p5.48xlarge'; None for one that is not listed."""
    family, dot, size = name.partition(".")
    return FAMILIES.get(family.lower()) if dot and size else None
