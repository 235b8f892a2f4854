"""Two evidence files side by side: what changed between versions, GPUs or days."""

from __future__ import annotations

import msgspec

from compatcheck.smoke.evidence import CellEvidence, Evidence

_FACTOR = 2.0
_FLOOR = 1e-3


class CellChange(msgspec.Struct, frozen=True, kw_only=True):
    """A cell in both files whose outcome, or error by more than a factor of two, differs."""

    id: str
    before: str
    after: str
    kind: str


class EvidenceDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What differs. `place` maps fingerprint facts to (before, after)."""

    place: dict[str, tuple[str, str]]
    changed: tuple[CellChange, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    same: int

    @property
    def differs(self) -> bool:
        """Whether an outcome or an error changed."""
        return bool(self.changed)


def diff(before: Evidence, after: Evidence) -> EvidenceDiff:
    """Compare cell by cell. Ids name the SM: for two GPUs of different SMs the SM part of the id is set aside."""
    same_sm = before.fingerprint.sm == after.fingerprint.sm
    old = {_key(c.id, same_sm): c for c in before.cells}
    new = {_key(c.id, same_sm): c for c in after.cells}
    changed = [change for key in old if key in new and (change := _change(key, old[key], new[key]))]
    common = sum(key in new for key in old)
    return EvidenceDiff(
        place=_place(before, after),
        changed=tuple(changed),
        only_before=tuple(key for key in old if key not in new),
        only_after=tuple(key for key in new if key not in old),
        same=common - len(changed),
    )


def _key(id_: str, same_sm: bool) -> str:
    if same_sm:
        return id_
    return "/".join(part for part in id_.split("/") if not part.startswith("sm"))


def _place(before: Evidence, after: Evidence) -> dict[str, tuple[str, str]]:
    old, new = (msgspec.structs.asdict(e.fingerprint) for e in (before, after))
    libraries = old.pop("libraries"), new.pop("libraries")
    names = {name: (str(old[name]), str(new[name])) for name in old if old[name] != new[name]}
    for name in sorted({*libraries[0], *libraries[1]}):
        pair = (str(libraries[0].get(name)), str(libraries[1].get(name)))
        if pair[0] != pair[1]:
            names[name] = pair
    return names


def _change(key: str, old: CellEvidence, new: CellEvidence) -> CellChange | None:
    if old.outcome != new.outcome:
        return CellChange(id=key, before=_said(old), after=_said(new), kind="outcome")
    if (old.exception or "") != (new.exception or ""):
        return CellChange(id=key, before=_said(old), after=_said(new), kind="words")
    worst = [max(c.errors.values(), default=0.0) for c in (old, new)]
    low, high = min(worst), max(worst)
    if high > _FLOOR and high > _FACTOR * max(low, _FLOOR / 10):
        return CellChange(id=key, before=_said(old), after=_said(new), kind="error")
    return None


def _said(cell: CellEvidence) -> str:
    if cell.exception:
        return f"{cell.outcome} ({cell.exception})"
    worst = max(cell.errors.values(), default=None)
    return cell.outcome if worst is None else f"{cell.outcome} (error {worst:.3g})"
