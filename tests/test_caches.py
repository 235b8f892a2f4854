"""One folder for all caches, and none made up where nobody's home is known."""

from __future__ import annotations

import os

import pytest

from compatcheck.caches import cache_folder


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"COMPATCHECK_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a/compatcheck"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/compatcheck"),
        ({"HOME": "/c"}, "/c/.cache/compatcheck"),
    ],
)
def test_where_it_is(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], found: str) -> None:
    for name in ("COMPATCHECK_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == found


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COMPATCHECK_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(OSError, match="set COMPATCHECK_CACHE_DIR"):
        cache_folder()
