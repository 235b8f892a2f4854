"""`normalise` for many configurations: what repeats from line to line is worked out once."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import msgspec

from compatcheck.matrix.model import Matrix
from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.model_settings import settled_types
from compatcheck.resolve.normalise import LEAST, Normalised, lacks_family, normalise
from compatcheck.resolve.verdict import Assumption

_MANY = 65536
_NAMES = ("backend", "dtype", "kv_cache_dtype", "attn_type")
"""Fields whose spelling does not depend on any other field."""
_FRAME = ("engine", "engine_version", "flashinfer_version", "torch_version", "cuda_version", "sm", "has_flashinfer")
"""Fields whose values decide what is filled in; of the others it only matters whether they are given.

An SM's type belongs to it: 9.0 is one, 9 is none, and they are equal as keys.
"""
_LATENT = ("use_mla", "head_size")
"""Fields that are filled in from a latent's dimensions, where they are not given."""


class Normaliser:
    """Normalises configurations one after the other.

    `defaults` fills the fields that a configuration leaves out, as if they stood in it.
    """

    def __init__(self, matrix: Matrix, defaults: Configuration | None = None) -> None:
        self._matrix = matrix
        self._defaults = _given(defaults) if defaults else {}
        self._settled = settled_types(matrix)
        self._frames: dict[tuple[object, ...], _Frame] = {}
        self._names: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._good_sizes: dict[tuple[str, ...], tuple[Callable[[Any], Any] | None, set[Any]]] = {}
        self._assumed: dict[tuple[Assumption, ...], tuple[Assumption, ...]] = {}

    def __call__(self, given: Configuration) -> Normalised:
        """Return the facts of one configuration. Raises `ConfigurationError`."""
        return self.fields(_given(given))

    def fields(self, given: dict[str, Any]) -> Normalised:
        """Return the facts of a configuration that is given as its fields, none of them None.

        Raises `ConfigurationError`, and `msgspec.ValidationError` for an unknown field or a value of the wrong type.
        """
        given = self.with_defaults(given)
        get = given.get
        shape = tuple(given)
        try:
            if get("model_type") in self._settled or lacks_family(given):
                return normalise(self._matrix, msgspec.convert(given, Configuration))
            key = (shape, *[get(field) for field in _FRAME], type(get("sm")), bool(get("sliding_window")))
            frame = self._frames.get(key)
            spelled = self._names.get((get("backend"), get("dtype"), get("kv_cache_dtype"), get("attn_type")))
            if frame is None or spelled is None or not self._sized(shape, given):
                return self._learn(key, shape, given)
        except TypeError:  # a list where a name is wanted has no hash
            return normalise(self._matrix, msgspec.convert(given, Configuration))
        return Normalised(
            facts=msgspec.convert({**given, **frame.changed, **spelled}, Configuration),
            release=frame.release,
            answered_as=frame.answered_as,
            assumed=frame.assumed,
            beyond=frame.beyond,
        )

    def with_defaults(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a configuration with those that it leaves out filled by the defaults."""
        return {**self._defaults, **given} if self._defaults else given

    def sizes_stand(self, given: dict[str, Any]) -> bool:
        """Return whether sizes (and the spelling of dtypes) are all that changes where only these are given anew."""
        derived = "kv_lora_rank" in given and not all(field in given for field in _LATENT)
        settled = given.get("model_type") in self._settled
        return not (settled or derived or "linear" in given or given.get("dtype") == "auto")

    def _learn(self, key: tuple[object, ...], shape: tuple[str, ...], given: dict[str, Any]) -> Normalised:
        """Normalise in full, and keep what the same kind of line, and the same names, need next time."""
        read = msgspec.convert(given, Configuration)
        normal = normalise(self._matrix, read)
        if not self.sizes_stand(given):
            return normal
        before, after = msgspec.structs.asdict(read), msgspec.structs.asdict(normal.facts)
        changed = {field: value for field, value in after.items() if value is not before[field]}
        spelled = {field: changed.pop(field) for field in _NAMES if field in changed and field in given}
        # Equal assumptions are one object, by which equal verdicts are known.
        normal = msgspec.structs.replace(normal, assumed=self._assumed.setdefault(normal.assumed, normal.assumed))
        self._frames[key] = _Frame(changed, normal.release, normal.answered_as, normal.assumed, normal.beyond)
        self._names[tuple([given.get(field) for field in _NAMES])] = spelled
        self._remember_sizes(shape, given)
        return normal

    def _sized(self, shape: tuple[str, ...], given: dict[str, Any]) -> bool:
        """Return whether these sizes have been seen, and are such as `normalise` lets pass as they are."""
        get, good = self._good_sizes.get(shape, (None, ()))
        return get is not None and get(given) in good

    def _remember_sizes(self, shape: tuple[str, ...], given: dict[str, Any]) -> None:
        known = self._good_sizes.get(shape)
        if known is None:
            names = [field for field in shape if field in LEAST]
            known = self._good_sizes[shape] = (itemgetter(*names) if names else lambda fields: None, set())
        get, good = known
        if get is not None:
            if len(good) > _MANY:
                good.clear()
            good.add(get(given))


class _Frame(msgspec.Struct):
    changed: dict[str, Any]
    release: str
    answered_as: str | None
    assumed: tuple[Assumption, ...]
    beyond: str | None


def _given(configuration: Configuration) -> dict[str, Any]:
    return {field: value for field, value in msgspec.structs.asdict(configuration).items() if value is not None}
