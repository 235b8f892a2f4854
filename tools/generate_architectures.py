"""Write compatcheck/launch/data/architectures.json from unpacked vLLM wheels.

    python tools/generate_architectures.py 0.32.0=WHEEL_FOLDER 0.33.0=WHEEL_FOLDER ... --out compatcheck/launch/data

Each WHEEL_FOLDER holds the `vllm` package of one release. Nothing is imported or run: the tables of
model_executor/models/registry.py are read from its syntax tree. An architecture counts where a table gives it a module
and a class; names that only say when support ended do not.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from pathlib import Path

REGISTRY = Path("vllm", "model_executor", "models", "registry.py")


def architectures_of(wheel: Path) -> set[str]:
    """Return the architectures that a release implements."""
    found: set[str] = set()
    for node in ast.parse((wheel / REGISTRY).read_text("utf-8")).body:
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        if isinstance(value, ast.Dict):
            for key, entry in zip(value.keys, value.values, strict=True):
                named = key.value if isinstance(key, ast.Constant) else None
                if isinstance(named, str) and isinstance(entry, ast.Tuple) and len(entry.elts) == 2:
                    found.add(named)
    return found


def spans_of(present: list[bool], releases: list[str]) -> list[list[str | None]]:
    """Return [since, until) for each run of releases; None where it reaches the first, or the last."""
    spans: list[list[str | None]] = []
    before = False
    for index, here in enumerate(present):
        if here and not before:
            spans.append([releases[index] if index else None, None])
        elif before and not here:
            spans[-1][1] = releases[index]
        before = here
    return spans


def main() -> int:
    """Read every wheel and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", metavar="RELEASE=FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pairs = [text.split("=", 1) for text in arguments.wheels]
    releases = [release for release, _ in pairs]
    each = [architectures_of(Path(folder)) for _, folder in pairs]
    table = {name: spans_of([name in names for names in each], releases) for name in sorted(set().union(*each))}
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(spans, separators=(',', ':'))}" for name, spans in table.items()
    )
    head = json.dumps({"schema": 1, "sources": ["model_executor/models/registry.py"], "releases": releases})
    (arguments.out / "architectures.json").write_text(f'{head[:-1]},\n"architectures": {{\n{lines}\n}}}}\n', "utf-8")
    sys.stderr.write(f"{len(table)} architectures of {len(releases)} releases\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
