"""YAML of other tools (SkyPilot, dstack, GitHub workflows, GitLab, Ansible): scripts that stand in its texts.

Variables of a mapping hold for all scripts below it, in all of these tools; a list of texts is one script.
"""

from __future__ import annotations

import re
from functools import partial

import msgspec

from compatcheck.launch import docker
from compatcheck.launch.command_line import launches_in_script
from compatcheck.launch.files.block_texts import read_block
from compatcheck.launch.files.containers import image_of, launches_of, lines_alone, named, word_of, words_of
from compatcheck.launch.files.gitlab_jobs import with_bases
from compatcheck.launch.files.reader import read_documents
from compatcheck.launch.files.script_variables import VARIABLES, filled, handed_on, runtime_of, variables_of
from compatcheck.launch.files.task_gpus import gpu_of_resources
from compatcheck.launch.launch_parts import with_image
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.placeholders import unveiled, veiled_values
from compatcheck.launch.templates import veiled
from compatcheck.launch.yaml_lenient import Node, starts_of

MARKS = ("vllm serve", "vllm.entrypoints", "vllm/vllm-openai", "vllm bench", "vllm run-batch")
"""What a text has in it that may launch the engine."""
_LISTED = re.compile(r"\bvllm[\"']?\s*(?:,|\n\s*-)\s*[\"']?(?:serve|bench|run-batch)\b")
"""The same as the words of a list."""
_FENCED = re.compile(r"^[ \t>]*(?:```|~~~)", re.M)
"""A code block of Markdown: what stands around it is prose, whose apostrophes are no quotes."""
PROSE = frozenset({"name", "description", "title", "summary", "label", "comment", "help", "message", "msg", "notes"})
"""Keys of texts that people read."""
_CONTAINER = ("command", "args", "entrypoint")


class YamlScripts:
    """Every text of a YAML file that may be a script."""

    name = "yaml"

    def takes(self, path: str, text: str) -> bool:
        named = any(mark in text for mark in MARKS) or _LISTED.search(text) is not None
        return path.endswith((".yaml", ".yml")) and named

    def launches(self, text: str) -> list[Launch]:
        lines = text.splitlines()
        documents = read_documents(text, "file")
        return [launch for document in documents for launch in launches_in_document(document, lines)]


def launches_in_document(document: Node, lines: list[str]) -> list[Launch]:
    """Return the launches of a whole document of jobs or tasks."""
    return launches_in_scalars(with_bases(document), lines)


def launches_in_scalars(document: Node, lines: list[str], *, pods: bool = False) -> list[Launch]:
    """Return the launches of every text below a node that reads like a script.

    `pods`: a container's `command` is its entrypoint, as in Kubernetes; elsewhere it is what the entrypoint is given.
    """
    found = _Walk(lines, pods=pods).below(document, _Scope())
    return list({(one.line, one.column, one.words, *one.environment.items()): one for one in found}.values())


def _of_docker(node: Node | None) -> Node | None:
    """Return the image of SkyPilot's `image_id: docker:IMAGE`; other ids are those of machines."""
    kind, _, image = ((node.text() if node is not None else None) or "").partition(":")
    return Node(image, node.line, node.column + len(kind) + 1) if node is not None and kind == "docker" else None


class _Scope(msgspec.Struct, frozen=True):
    """What holds for the scripts below a mapping."""

    environment: dict[str, Word] = {}
    elsewhere: tuple[Word, ...] = ()
    image: Word | None = None
    gpu: Word | None = None


class _Walk:
    def __init__(self, lines: list[str], *, pods: bool) -> None:
        self.lines = lines
        self.pods = pods

    def below(self, node: Node, scope: _Scope) -> list[Launch]:
        """Return the launches of all scripts in a node, each with what holds for it."""
        if isinstance(node.value, dict):
            return self._mapping(node, scope)
        if not isinstance(node.value, list):
            return self._script([node], scope)
        if all(item.text() is not None for item in node.value):
            return self._process(node, scope) or self._script(node.value, scope)
        found: list[Launch] = []
        for item in node.value:
            found += self.below(item, scope)
            scope = msgspec.structs.replace(scope, environment=scope.environment | handed_on(item))
        return found

    def _mapping(self, node: Node, scope: _Scope) -> list[Launch]:
        scope = self._scope(node, scope)
        found = self._container(node, scope)
        done = {*VARIABLES, *(_CONTAINER if found else ())}
        before, script = node.get("before_script"), node.get("script")
        if before is not None and script is not None:
            done |= {"before_script", "script"}
            found += self._script([*before.items(), *script.items()], scope)
        for key, child in node.value.items():
            prose = key.lower() in PROSE and child.text() is not None
            found += self.below(child, scope) if key not in done and not prose else []
        return found

    def _scope(self, node: Node, scope: _Scope) -> _Scope:
        elsewhere = [*scope.elsewhere]
        environment = scope.environment | variables_of(node, elsewhere)
        extends = node.get("extends") if node.get("script") is not None else None
        elsewhere += [named("the job", item) for item in (extends.items() if extends is not None else ())]
        container = node.get("container")
        for part in (container, node.get("stepTemplate"), runtime_of(node.get("runtimeEnvYAML"), elsewhere)):
            environment |= variables_of(part, elsewhere) if part is not None else {}
        inner = container.get("image") if container is not None else None
        images = [_of_docker(node.get("resources", "image_id")), image_of(node.get("image")), container, inner]
        image = next((word_of(n) for n in images if n is not None and n.text()), scope.image)
        return _Scope(environment, tuple(elsewhere), image, gpu_of_resources(node.get("resources")) or scope.gpu)

    def _container(self, node: Node, scope: _Scope) -> list[Launch]:
        """Return the launches of a mapping that says what a container, or a process, is started with."""
        image = image_of(node.get("image")) or node.get("name")
        server = image is not None and docker.is_vllm_server(image.text() or "")
        command, args = node.get("command"), node.get("args")
        if not any(part is not None and (server or isinstance(part.value, list)) for part in (command, args)):
            return []
        elsewhere = [*scope.elsewhere]
        own = variables_of(node, [])
        around = {name: msgspec.structs.replace(word, dynamic=True) for name, word in scope.environment.items()}
        entrypoint, first, second = (
            words_of(part, self.lines, elsewhere, title, partial(filled, environment=own))
            for part, title in ((node.get("entrypoint"), "entrypoint"), (command, "command"), (args, "args"))
        )
        written = node.get("image")
        charted = written is not None and isinstance(written.value, dict)
        if first and entrypoint is None and (args is not None or charted or self.pods):
            entrypoint, first = first, None
        words = [*(first or []), *(second or [])]
        return launches_of(
            image if server else None, entrypoint, words, around | own, node, scope.gpu, elsewhere=elsewhere
        )

    def _process(self, node: Node, scope: _Scope) -> list[Launch]:
        """Return the launch of a list that is one command, word by word."""
        elsewhere = [*scope.elsewhere]
        words = words_of(node, self.lines, elsewhere, "command")
        return launches_of(None, [], words, scope.environment, node, scope.gpu, elsewhere=elsewhere)

    def _script(self, texts: list[Node], scope: _Scope) -> list[Launch]:
        if len(texts) == 1 and _FENCED.search(texts[0].text() or ""):
            found = read_block("text.md", texts[0], self.lines)
            if found is not None:
                return found
        if scope.image is not None and docker.is_other_platform(scope.image.text):
            return []
        if not any(mark in (node.text() or "") for node in texts for mark in MARKS):
            return []
        body = ""
        starts: list[tuple[int, int, int]] = []
        for node in texts:
            starts += [(len(body) + at, line, column) for at, line, column in starts_of(node, self.lines)]
            body += (node.text() or "") + "\n"
        word = veiled(filled(Word(body, starts=tuple(starts)), scope.environment))
        environment = veiled_values(scope.environment)
        elsewhere = (*scope.elsewhere, *lines_alone(word))
        return [
            msgspec.structs.replace(
                with_image(unveiled(launch), scope.image),
                elsewhere=elsewhere,
                gpu=launch.gpu or scope.gpu,
            )
            for launch in launches_in_script(word.text, environment=environment, starts=word.starts)
        ]
