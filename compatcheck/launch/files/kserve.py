"""KServe's services, which name a model and options for a runtime: InferenceService.

Sources: kserve/kserve pkg/controller/v1beta1/inferenceservice/utils/utils.go:MergeRuntimeContainers (arguments of
runtime and service are combined), python/huggingfaceserver/huggingfaceserver/__main__.py (options of its own beside
the engine's; those that neither knows are passed over).
"""

from __future__ import annotations

import msgspec

from compatcheck.launch.files.containers import launches_of, named
from compatcheck.launch.files.node_choice import gpu_of
from compatcheck.launch.files.pods import Maps, Pod, model_of_uri
from compatcheck.launch.model import Launch, Word
from compatcheck.launch.yaml_lenient import Node

MARK = "InferenceService"
"""What every file of these services names; it need not name vLLM."""
RUNTIMES = frozenset({"ServingRuntime", "ClusterServingRuntime"})
SERVER = "huggingfaceserver"
MOUNT = "/mnt/models"
"""Where the storage initialiser puts what storageUri names."""
_OTHER_BACKENDS = frozenset({"huggingface", "triton"})


def kind_of(document: Node) -> str:
    """Return a document's kind; nothing where it has none."""
    return text_of(document.get("kind"))


def text_of(node: Node | None) -> str:
    """Return a scalar's text; nothing where there is none."""
    return (node.text() if node is not None else None) or ""


class Services:
    """The InferenceServices of a file, and the runtimes in it that serve them."""

    def __init__(self, documents: list[Node], lines: list[str], maps: Maps) -> None:
        self.lines = lines
        self.maps = maps
        self.services = [document for document in documents if kind_of(document) == "InferenceService"]
        self.runtimes = [document for document in documents if kind_of(document) in RUNTIMES]
        self.used: list[Node] = []

    def uses(self, document: Node) -> bool:
        """Return whether a document is a runtime that was found to serve one of the services."""
        return any(document is runtime for runtime in self.used)

    def launches(self) -> list[Launch]:
        """Return the launches of every service whose model says that vLLM serves it, or whose runtime does."""
        found: list[Launch] = []
        for document in self.services:
            predictor = document.get("spec", "predictor")
            model = predictor.get("model") if predictor is not None else None
            if predictor is None or model is None or model.get("image"):
                continue
            runtime = self._runtime(model)
            containers = runtime.get("spec", "containers") if runtime is not None else None
            container = containers.items()[0] if containers is not None and containers.items() else None
            gpu = gpu_of(predictor) or (_gpu_of_runtime(runtime) if runtime is not None else None)
            launches = _Served(model, container, gpu, self.lines, self.maps).launches()
            if launches and runtime is not None:
                self.used.append(runtime)
            found += launches
        return found

    def _runtime(self, model: Node) -> Node | None:
        """Return the runtime of this file that serves a model: the one that it names, or one for its format."""
        wanted, format_ = text_of(model.get("runtime")), text_of(model.get("modelFormat", "name")).lower()
        for document in self.runtimes:
            formats = document.get("spec", "supportedModelFormats")
            names = [text_of(f.get("name")).lower() for f in formats.items()] if formats is not None else []
            if text_of(document.get("metadata", "name")) == wanted if wanted else format_ in names:
                return document
        return None


def _gpu_of_runtime(runtime: Node) -> Word | None:
    spec = runtime.get("spec")
    return gpu_of(spec) if spec is not None else None


class _Served:
    """A model, and the container of the runtime that serves it, where the file has it."""

    def __init__(self, model: Node, container: Node | None, gpu: Word | None, lines: list[str], maps: Maps) -> None:
        self.model = model
        self.gpu = gpu
        self.stored = model_of_uri(model.get("storageUri"))
        self.own = Pod(model, lines, maps)
        self.runtime = Pod(container, lines, maps) if container is not None else None
        self.format = text_of(model.get("modelFormat", "name")).lower()
        self.wanted = text_of(model.get("runtime"))

    def launches(self) -> list[Launch]:
        """Return what serves the model: vLLM's own server, KServe's, or nothing that is known."""
        words = [word for pod in self._pods() for word in pod.words("args") or []]
        pod = self.runtime
        if pod is None:
            kserves = self.wanted.startswith("kserve-") or not self.wanted
            if self.format == "huggingface" and kserves:
                return self._huggingface(words)
            return self._vllm(words) if self.format == "vllm" else []
        command = self.own.words("command") or pod.words("command")
        image = pod.container.get("image")
        if SERVER in " ".join([text_of(image), *(word.text for word in [*(command or []), *words])]):
            at = next((i for i, word in enumerate(words) if word.text == SERVER), -1)
            return self._huggingface(words[at + 1 :])
        return self._launches(image, command, words)

    def _pods(self) -> list[Pod]:
        return [self.runtime, self.own] if self.runtime is not None else [self.own]

    def _launches(self, image: Node | None, command: list[Word] | None, words: list[Word]) -> list[Launch]:
        environment = {name: word for pod in self._pods() for name, word in pod.environment.items()}
        files = tuple(word for pod in self._pods() for word in pod.env_files)
        elsewhere = [word for pod in self._pods() for word in pod.elsewhere]
        placed = _placed(words, self.stored)
        found = launches_of(image, command, placed, environment, self.model, self.gpu, files, elsewhere)
        return [msgspec.structs.replace(launch, line=self.model.line, column=self.model.column) for launch in found]

    def _vllm(self, words: list[Word]) -> list[Launch]:
        """Return the launch by a runtime that is in the cluster: whatever it says beside the service is not known."""
        wanted = self.model.get("runtime")
        self.own.elsewhere.append(named("the runtime", wanted) if wanted else named("the runtime of vLLM", self._here))
        if not any(word.text.partition("=")[0] == "--model" for word in words):
            words = [self._word("--model"), self._mounted(), *words]
        return self._launches(None, [self._word("vllm"), self._word("serve")], words)

    def _huggingface(self, given: list[Word]) -> list[Launch]:
        """Return the launch of KServe's own server, which uses vLLM unless it is told another backend."""
        words: list[Word] = []
        has_model = False
        for word in given:
            option, _, value = word.text.partition("=")
            option = option.replace("_", "-")
            if option == "--backend" and value in _OTHER_BACKENDS:
                return []
            if words and words[-1].text == "--backend" and word.text in _OTHER_BACKENDS:
                return []
            has_model = has_model or option == "--model-id"
            text = f"--model{word.text[len(option) :]}" if option == "--model-id" else word.text
            words.append(msgspec.structs.replace(word, text=text))
        if not has_model:
            words = [self._word("--model"), self._mounted(), *words]
        found = self._launches(None, [self._word("vllm"), self._word("serve")], words)
        return [msgspec.structs.replace(launch, program=SERVER) for launch in found]

    @property
    def _here(self) -> Node:
        return Node("", self.model.line, self.model.column)

    def _word(self, text: str) -> Word:
        return Word(text, self.model.line, self.model.column)

    def _mounted(self) -> Word:
        """Return the model of the storage, or the folder of one whose storage says nothing of what it holds."""
        return self.stored or self._word(MOUNT)


def _placed(words: list[Word], stored: Word | None) -> list[Word]:
    """Return words with the folder that the model is put into replaced by the model, where it is known."""
    if stored is None:
        return words
    return [
        msgspec.structs.replace(word, text=word.text.removesuffix(MOUNT) + stored.text, dynamic=stored.dynamic)
        if word.text in (MOUNT, f"--model={MOUNT}")
        else word
        for word in words
    ]
