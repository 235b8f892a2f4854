"""GitLab's jobs with what they extend and what holds for all of them.

Source: https://docs.gitlab.com/ci/yaml/: `extends` merges mappings and replaces everything else, the last one named
wins; a job whose name starts with a dot is not run; `default:` gives what a job does not say itself.
"""

from __future__ import annotations

import msgspec

from compatcheck.launch.yaml_lenient import Node

MAX_DEPTH = 11
"""Levels of `extends`, as GitLab has it."""
MAX_LINES = 10_000
"""Lines of a script once its references are followed."""
_DEFAULTS = ("image", "before_script")
_SCRIPTS = ("before_script", "script")


def with_bases(document: Node) -> Node:
    """Return a file of jobs with every job complete; any other document as it is.

    What a job extends that is not in the file stays in its `extends`.
    """
    jobs = document.value
    if not isinstance(jobs, dict) or not any(job.get("script") or job.get("extends") for job in jobs.values()):
        return document
    defaults = {key: found for key in _DEFAULTS if (found := document.get(key) or document.get("default", key))}
    extended = {name for job in jobs.values() for name in _names(job)}
    made: dict[str, Node] = {}
    done: dict[str, Node] = {}
    for name in jobs:
        whole = _whole(name, jobs, done)
        if isinstance(whole.value, dict) and whole.get("script") is not None:
            absent: list[Node] = []
            said = defaults | whole.value
            parts = {key: _Script(document, absent).flat(said[key]) for key in _SCRIPTS if key in said}
            extends = whole.get("extends")
            absent += extends.items() if extends is not None else []
            more = {"extends": Node(absent, whole.line, whole.column)} if absent else {}
            whole = msgspec.structs.replace(whole, value=said | parts | more)
        if name not in defaults and not (name.startswith(".") and name in extended):
            made[name] = whole
    return msgspec.structs.replace(document, value=made)


class _Script:
    """A script with the lists in it, and those that `!reference` names, put in their place."""

    def __init__(self, document: Node, absent: list[Node]) -> None:
        self.document = document
        self.absent = absent
        self.count = 0

    def flat(self, node: Node, depth: int = 0) -> Node:
        """Return a list of lines; a part that is not in the file is noted as absent."""
        found: list[Node] = []
        for item in node.items():
            self.count += 1
            inner: Node | None = item if isinstance(item.value, list) else None
            if inner is not None and item.tag == "!reference":
                inner = self.document.get(*(part.text() or "" for part in inner.value))
            if not isinstance(item.value, list):
                found.append(item)
            elif inner is None or depth >= MAX_DEPTH or self.count > MAX_LINES:
                self.absent.append(Node(" ".join(part.text() or "" for part in item.items()), item.line, item.column))
                if self.count > MAX_LINES:
                    break
            else:
                found += self.flat(inner, depth + 1).items()
        return msgspec.structs.replace(node, value=found)


def _names(job: Node) -> list[str]:
    extends = job.get("extends")
    return [name for item in (extends.items() if extends is not None else ()) if (name := item.text())]


def _whole(name: str, jobs: dict[str, Node], done: dict[str, Node], depth: int = 0) -> Node:
    """Return a job with all that it extends; `done` are those that were looked at before."""
    if name not in done:
        done[name] = jobs[name]  # what extends itself stays as it is
        done[name] = _with_own(jobs[name], jobs, done, depth)
    return done[name]


def _with_own(job: Node, jobs: dict[str, Node], done: dict[str, Node], depth: int) -> Node:
    extends = job.get("extends")
    if extends is None or not isinstance(job.value, dict) or depth >= MAX_DEPTH:
        return job
    found: dict[str, Node] = {}
    for name in _names(job):
        base = _whole(name, jobs, done, depth + 1) if name in jobs else None
        found = _merged(found, base.value) if base is not None and isinstance(base.value, dict) else found
    absent = [item for item in extends.items() if item.text() not in jobs]
    own = {key: value for key, value in job.value.items() if key != "extends"}
    if absent:
        own["extends"] = msgspec.structs.replace(extends, value=absent)
    return msgspec.structs.replace(job, value=_merged(found, own))


def _merged(base: dict[str, Node], over: dict[str, Node]) -> dict[str, Node]:
    made = base | over
    for key in base.keys() & over.keys():
        if isinstance(base[key].value, dict) and isinstance(over[key].value, dict):
            made[key] = msgspec.structs.replace(over[key], value=_merged(base[key].value, over[key].value))
    return made
