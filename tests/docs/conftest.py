"""The small matrix, the real one, and a place for caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from compatcheck.docs.environment import environment, render
from compatcheck.docs.grid import Grid
from compatcheck.docs.header import with_header
from compatcheck.docs.pages.explorer import pages
from compatcheck.docs.render import render_all
from compatcheck.docs.site import Site
from compatcheck.matrix.load import LoadedMatrix, load
from tests.docs.browser import Browser, find_chromium

SMALL = Path(__file__).parent / "data" / "small.yaml"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPATCHECK_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def small() -> LoadedMatrix:
    return load(SMALL)


def without_linear(loaded: LoadedMatrix) -> LoadedMatrix:
    """A matrix that says nothing of linear layers."""
    replace, matrix = msgspec.structs.replace, loaded.matrix
    engines = {name: replace(engine, linear=None) for name, engine in matrix.engines.items()}
    rules = {code: rule for code, rule in matrix.rules.items() if rule.kind != "linear"}
    return LoadedMatrix(replace(matrix, engines=engines, rules=rules), loaded.lines, loaded.digest)


@pytest.fixture(scope="session")
def real() -> LoadedMatrix:
    return load()


@pytest.fixture(scope="session")
def real_grid(real: LoadedMatrix) -> Grid:
    return Grid(real)


@pytest.fixture(scope="session")
def small_files(small: LoadedMatrix, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return render_all(small, tmp_path_factory.mktemp("none"))


@pytest.fixture(scope="session")
def real_site(real: LoadedMatrix, tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(real, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def explorer(real_site: Site) -> Path:
    (page,) = pages(real_site)
    path = real_site.output / "explorer.html"
    path.write_text(
        with_header(render(environment(), page.template, page.variables), ["matrix.yaml", page.template], html=True),
        "utf-8",
    )
    return path


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    assert program
    found = Browser(program, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def page(browser: Browser, explorer: Path) -> Iterator[Browser]:
    browser.errors.clear()
    browser.requests.clear()
    browser.open(explorer.as_uri())
    yield browser
    browser.run("1")
    assert browser.errors == []
    assert [url for url in browser.requests if url.startswith("http")] == []
