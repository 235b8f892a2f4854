"""Whether a change in a Python file has been made where a launch stands."""

from __future__ import annotations

from typing import Literal

from compatcheck.launch.files.python.bindings import Place
from compatcheck.launch.files.python.changes import Change


def certainty(made: Change, place: Place, loops: set[int], *, exact: bool) -> Literal["sure", "maybe", "never"]:
    """Return whether a change has been made where a launch stands; `exact`: the launch is made at that very place."""
    change = made.place
    if made.until is not None and not change.order <= place.order <= made.until:
        return "never"
    if made.undone and _other_test(change, place):
        return "never"
    if place.after(change):
        return "maybe" if made.perhaps else "sure"
    if not exact or change.order < place.order or change.scope.function() is not place.scope.function():
        return "maybe"
    again = loops.intersection(change.blocks).intersection(place.blocks)
    return "maybe" if again else "never"


def _other_test(change: Place, place: Place) -> bool:
    """Return whether two places belong to two tests, each of which starts from the environment as it was."""
    ours = [scope.name for scope in place.scope.functions()]
    theirs = [scope.name for scope in change.scope.functions()]
    mine, other = (next((n for n in names if n.startswith("test_")), None) for names in (ours, theirs))
    return mine is not None and other is not None and mine != other
