"""The GPU that a pod asks for by labels of nodes: a selector, or an affinity that is required and leaves one choice.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/: the terms of nodeSelectorTerms are
or-ed, the expressions of a term and-ed, the values of an expression or-ed; what is preferred is only a wish.
"""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.files.containers import word_of
from compatcheck.launch.files.instance_types import LABELS as INSTANCES
from compatcheck.launch.files.instance_types import gpu_of_instance
from compatcheck.launch.model import Word
from compatcheck.launch.yaml_lenient import Node

LABELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator")
"""Labels of nodes that name the GPU: NVIDIA's GPU feature discovery, and Google's clusters."""
_CHIP = re.compile(r"\b[A-Z]{1,2}\d+[A-Z]*\b")
"""The chip in a product's name, which is the same in all sizes of its memory: A100 in NVIDIA-A100-SXM4-80GB."""


def gpu_of(pod: Node) -> Word | None:
    """Return the GPU that a pod must run on, named by itself or by the type of the instance; None for a choice."""
    for label in LABELS + INSTANCES:
        selector = pod.get("nodeSelector", label)
        if selector is not None and (gpu := _gpu(label, selector)) is not None:
            return gpu
    required = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    for terms in (pod.get("affinity", *required), pod.get("nodeSelectorTerms")):
        if terms is not None and (gpu := one_of([word for term in terms.items() for word in _of_term(term)])):
            return gpu
    return None


def one_of(words: list[Word | None]) -> Word | None:
    """Return the GPU that all of these are; None where one is none, or another chip."""
    found = [word for word in words if word is not None]
    chips = {_chip(word.text) for word in found}
    return found[0] if len(found) == len(words) and len(chips) == 1 else None


def gpus_of(label: Node | None, values: Node | None) -> list[Word | None]:
    """Return the GPUs that a label's values stand for, None for each that stands for none."""
    name = (label.text() if label is not None else None) or ""
    return [_gpu(name, value) for value in values.items()] if values is not None and name in LABELS + INSTANCES else []


def _of_term(term: Node) -> list[Word | None]:
    """Return the GPUs that a term allows, by its first expression that says so; [None] where it allows all."""
    expressions = term.get("matchExpressions")
    for expression in expressions.items() if expressions is not None else ():
        operator = expression.get("operator")
        found = gpus_of(expression.get("key"), expression.get("values"))
        if found and (operator is None or operator.text() == "In"):
            return found
    return [None]


def _gpu(label: str, node: Node) -> Word | None:
    """Return the GPU that a label's value stands for; None where it stands for none."""
    word = word_of(node)
    if not word.text or word.dynamic:
        return None
    named = gpu_of_instance(word.text) if label in INSTANCES else word.text
    return None if named is None else msgspec.structs.replace(word, text=named)


def _chip(product: str) -> str:
    name = product.upper()
    chip = _CHIP.search(name)
    return chip[0] if chip is not None else name
