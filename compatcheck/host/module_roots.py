"""Where an installed top-level package's files lie: in a site directory, or where an editable install points.

Editable installs leave a .pth file with a directory, or (setuptools) a finder module with a MAPPING of
packages to directories. Both are read as text: a .pth line that starts with `import` is never run.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from compatcheck.host.source_files import UnreadableSourceError, parse_source, read_source


def find_package(name: str, site_paths: Sequence[Path]) -> Path | None:
    """Return the directory of a top-level package, searched in the order in which Python would, or None."""
    for site in site_paths:
        if (site / name / "__init__.py").is_file():
            return site / name
    for site in site_paths:
        for directory in _pth_directories(site):
            if (directory / name / "__init__.py").is_file():
                return directory / name
        mapped = _finder_mapping(site).get(name)
        if mapped is not None and (mapped / "__init__.py").is_file():
            return mapped
    return None


def _pth_directories(site: Path) -> list[Path]:
    found = []
    for path in sorted(site.glob("*.pth")):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in map(str.strip, lines):
            if line and not line.startswith(("#", "import ", "import\t")):
                directory = site / line
                if directory.is_dir():
                    found.append(directory)
    return found


def _finder_mapping(site: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(site.glob("__editable___*_finder.py")):
        try:
            tree = parse_source(read_source(path))
        except (FileNotFoundError, UnreadableSourceError):
            continue
        for node in tree.body:
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and target.id == "MAPPING" and isinstance(value, ast.Dict):
                for key, item in zip(value.keys, value.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(item, ast.Constant) and isinstance(item.value, str):
                        found[str(key.value)] = Path(item.value)
    return found
