"""Variables around the scripts of a YAML file, and what its tool puts into a script before a shell sees it."""

from __future__ import annotations

import re

import msgspec

from compatcheck.launch.files.containers import environment_of
from compatcheck.launch.files.reader import UnreadableError, read_documents
from compatcheck.launch.model import Word
from compatcheck.launch.placeholders import filled_from, is_reference
from compatcheck.launch.yaml_lenient import Node

VARIABLES = ("variables", "envs", "secrets", "environment", "env")
"""Keys of variables: GitLab's and Azure's, SkyPilot's, CircleCI's and Ansible's, and everybody else's."""
_REFERENCE = re.compile(r"\$\$(?=[A-Za-z_{])|\$\{\{\s*(?:env|variables)\.([A-Za-z_]\w*)\s*\}\}|\$\(([A-Za-z_]\w*)\)")
"""Escaped dollars of Buildkite, Drone and Cloud Build, and variables by the names of GitHub and of Azure."""
_HANDED_ON = re.compile(r"([A-Za-z_]\w*)=[^\n]*>>\s*\"?\$\{?GITHUB_ENV")


def filled(word: Word, environment: dict[str, Word]) -> Word:
    """Return a script with `${{ env.NAME }}` and `$(NAME)` replaced where the file says what it is."""
    return filled_from(word, _REFERENCE, environment)


def variables_of(node: Node, elsewhere: list[Word]) -> dict[str, Word]:
    """Return the variables of a mapping; the `environment:` of a job may be a mere name."""
    found: dict[str, Word] = {}
    for key in VARIABLES:
        variables = node.get(key)
        text = (variables.text() if variables is not None else None) or ""
        if key != "environment" or not text or (text.startswith("{{") and is_reference(text)):
            found |= environment_of(variables, elsewhere, key)
    return found


def runtime_of(node: Node | None, elsewhere: list[Word]) -> Node | None:
    """Return the variables of a RayJob's `runtimeEnvYAML`, at the place of that text."""
    if node is None or node.is_null():
        return None
    try:
        documents = read_documents(node.text() or "", "runtimeEnvYAML")
    except UnreadableError:
        documents = []
    if not documents or not isinstance(documents[0].value, dict):
        elsewhere.append(Word("runtimeEnvYAML", node.line, node.column, dynamic=True))
        return None
    variables = documents[0].get("env_vars")
    if variables is None or not isinstance(variables.value, dict):
        return variables if variables is None else Node({"env": variables}, node.line, node.column)
    placed = {
        name: msgspec.structs.replace(value, line=node.line, column=node.column)
        for name, value in variables.value.items()
    }
    return Node({"env": Node(placed, node.line, node.column)}, node.line, node.column)


def handed_on(item: Node) -> dict[str, Word]:
    """Return what a step writes into the file of GITHUB_ENV, whose values later steps have; they are not read."""
    return {
        match[1]: Word(match[1], node.line, node.column, dynamic=True)
        for node in item.walk()
        for match in _HANDED_ON.finditer(node.text() or "")
    }
