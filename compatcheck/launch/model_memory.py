"""What was read of a launch's model, kept while the same launch is read again with something changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from compatcheck.launch.layer_schemes import Schemes
from compatcheck.launch.linear_kinds import kinds_of
from compatcheck.launch.linear_scheme import schemes_of
from compatcheck.launch.model_source import ModelError, ModelSource, find_model


class ModelMemory:
    """Reads a model's files once for each launch, and how its layers are quantised once for each release."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, str | None], ModelSource | ModelError | None] = {}
        self._schemes: dict[tuple[bytes, str], Schemes | None] = {}

    def find(self, name: str, directory: str | None) -> ModelSource | None:
        """Return a model's configuration, as `find_model` does. Raises `ModelError`."""
        if (name, directory) not in self._sources:
            try:
                self._sources[name, directory] = find_model(name, directory)
            except ModelError as error:
                self._sources[name, directory] = error
        found = self._sources[name, directory]
        if isinstance(found, ModelError):
            raise found
        return found

    def schemes(self, quantization: Mapping[str, Any], release: str) -> Schemes | None:
        """Return the NVFP4 schemes of a quantisation in a release."""
        key = (msgspec.json.encode(quantization), release)
        if key not in self._schemes:
            self._schemes[key] = schemes_of(quantization, release)
        return self._schemes[key]

    def kinds(self, quantization: Mapping[str, Any]) -> Schemes | None:
        """Return the kinds of quantisation of its layers, NVFP4 or not."""
        key = (msgspec.json.encode(quantization), "")
        if key not in self._schemes:
            self._schemes[key] = kinds_of(quantization)
        return self._schemes[key]
