"""Write compatcheck/launch/data/flags.json, environment.json and keywords.json from unpacked vLLM wheels.

    python tools/generate_flags.py 0.32.0=WHEEL_FOLDER 0.33.0=WHEEL_FOLDER ... --out compatcheck/launch/data

Each WHEEL_FOLDER holds the `vllm` package of one release (`pip download --no-deps vllm==X`, then unzip; only the .py
files are read). Nothing is imported or run: argument definitions are read from the syntax tree, the way vLLM's own
`get_kwargs` derives them from the annotations of its configuration classes. For `vllm serve` that is: the calls of
`add_argument` in `EngineArgs.add_cli_args` and `AsyncEngineArgs.add_cli_args` (engine/arg_utils.py), the fields of
`FrontendArgs` and `BaseFrontendArgs`, and the calls in `make_arg_parser` (entrypoints/**/cli_args.py).

An option whose definition cannot be understood stops the run: a silent gap would be reported to users as an unknown
option. Environment variables are those that any module asks for: the keys of `environment_variables` in envs.py that
are used somewhere, and names read through `os.environ` or `os.getenv`. Keywords are what Python callers may write: the
fields of EngineArgs and AsyncEngineArgs, and the parameters of LLM, which hands the rest to EngineArgs. Beside them
stand the names of QuantizationMethods, which --quantization and a checkpoint's quant_method take.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from wheel_types import (
    Spec,
    Wheel,
    assigned,
    is_config,
    limits_of,
    name_of,
    options_of,
    spec_of,
    takes_none,
    types_of,
)
from wheel_variables import variables_of

FOLDING = "lambda s: s.lower().replace('-', '_')"
"""A `type` that makes values small and their dashes underscores."""
WITH_KEYS = ("--attention-config", "--kv-transfer-config", "--compilation-config", "--kernel-config")
"""JSON options whose keys are compared with the fields of their class, which forbids others."""


TYPED = ("--attention-config", "--kv-transfer-config", "--compilation-config")
"""Those of which the types of the values are compared too."""


class NotUnderstoodError(Exception):
    """An argument definition of a shape that this script does not know."""


# ------------------------------------------------------------------------------------ argument calls


class Calls:
    """The `add_argument` calls of one function."""

    def __init__(self, wheel: Wheel, function: ast.FunctionDef) -> None:
        self.wheel = wheel
        self.function = function
        self.configs: dict[str, str] = {}  # model_kwargs -> ModelConfig
        self.locals: dict[str, tuple[str, str]] = {}  # moe_backend_kwargs -> (KernelConfig, moe_backend)
        self.folded: set[str] = set()  # locals whose "type" folds the spelling of what is written
        self.flags: dict[str, Spec] = {}
        self.handed_on = handed_on(wheel)

    def read(self) -> dict[str, Spec]:
        """Return option -> how it is declared."""
        for node in ast.walk(self.function):
            if isinstance(node, ast.stmt):
                self._assignment(node)
        for node in ast.walk(self.function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
                self._call(node)
        return self.flags

    def _assignment(self, node: ast.stmt) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Subscript) and isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            self._lambda(target, node.value)
        name, value = assigned(node)
        if name is None or value is None:
            return
        if isinstance(value, ast.Call) and name_of(value.func) == "get_kwargs":
            self.configs[name] = str(name_of(value.args[0]))
        found = self._subscript(value)
        if found:
            self.locals[name] = found

    def _lambda(self, target: ast.Subscript, value: ast.Lambda) -> None:
        """Note `X["type"] = lambda s: ...`: what the parser makes of a written value before it compares it."""
        if not (isinstance(target.slice, ast.Constant) and target.slice.value == "type"):
            return
        if ast.unparse(value) != FOLDING or not isinstance(target.value, ast.Name):
            raise NotUnderstoodError(f"{ast.unparse(target)} = {ast.unparse(value)}")
        self.folded.add(target.value.id)

    def _subscript(self, node: ast.expr) -> tuple[str, str] | None:
        """Return (class, field) of `model_kwargs["dtype"]`, however it is wrapped."""
        for part in ast.walk(node):
            if not (isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant)):
                continue
            if isinstance(part.value, ast.Name) and part.value.id in self.configs:
                return self.configs[part.value.id], str(part.slice.value)
            if isinstance(part.value, ast.Call) and name_of(part.value.func) == "get_kwargs":
                return str(name_of(part.value.args[0])), str(part.slice.value)
        return None

    def _call(self, call: ast.Call) -> None:
        options = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if not options or not options[0].startswith("-"):
            return  # a positional, such as model_tag
        spec: Spec = {}
        given: dict[str, ast.expr] = {}
        for keyword in call.keywords:
            if keyword.arg is not None:
                given[keyword.arg] = keyword.value
                continue
            source = self._subscript(keyword.value) or self.locals.get(name_of(keyword.value) or "")
            if source is None:
                raise NotUnderstoodError(f"{options}: {ast.unparse(keyword.value)}")
            class_name, field_name = source
            declaration = self.wheel.declarations(class_name)[field_name]
            spec |= spec_of(self.wheel, field_name, declaration.annotation)
            if takes_none(self.wheel, declaration.annotation):
                spec["none"] = True
            if (class_name, field_name) in self.handed_on:
                spec |= limits_of(declaration)
            if name_of(keyword.value) in self.folded:
                spec["folds"] = True
            if isinstance(keyword.value, ast.Dict):
                given |= {
                    str(k.value): v
                    for k, v in zip(keyword.value.keys, keyword.value.values, strict=True)
                    if isinstance(k, ast.Constant)
                }
        spec |= _explicit(given)
        if "kind" not in spec:
            spec["kind"] = "str"
        longest = next((o for o in options if o.startswith("--")), options[0])
        help_text = ast.unparse(given["help"]) if "help" in given else ""
        if "DEPRECAT" in help_text.upper() or "deprecated" in given:
            spec["deprecated"] = True
        if "dest" in given:
            spec["dest"] = ast.literal_eval(given["dest"])
        aliases = [option for option in options if option != longest]
        if aliases:
            spec["aliases"] = aliases
        self.flags[longest] = spec


@lru_cache(maxsize=1)
def handed_on(wheel: Wheel) -> frozenset[tuple[str, str]]:
    """Return (class, field) of what EngineArgs gives to a configuration class as it was written."""
    tree = ast.parse((wheel.root / "engine" / "arg_utils.py").read_text("utf-8"))
    return frozenset(
        (str(name_of(call.func)), keyword.arg)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and name_of(call.func) in wheel.classes
        for keyword in call.keywords
        if keyword.arg is not None and ast.unparse(keyword.value) == f"self.{keyword.arg}"
        if is_config(wheel.classes[str(name_of(call.func))])
    )


def _explicit(given: dict[str, ast.expr]) -> Spec:
    spec: Spec = {}
    action = ast.unparse(given["action"]) if "action" in given else ""
    if "store_true" in action or "store_false" in action:
        return {"kind": "flag"}
    if "BooleanOptionalAction" in action:
        return {"kind": "bool"}
    if "append" in action:
        return {"kind": "append"}
    if "type" in given:
        text = ast.unparse(given["type"])
        known = {"int": "int", "float": "float", "str": "str", "json.loads": "json"}
        spec["kind"] = known.get(text, "json" if "json.loads" in text else "str")
    if "choices" in given:
        try:
            values = ast.literal_eval(given["choices"])
            spec |= {"kind": "choices", "choices": list(values)}
        except ValueError:
            spec["kind"] = "str"
    if "nargs" in given:
        nargs = ast.literal_eval(given["nargs"])
        if nargs in ("+", "*"):
            spec["kind"] = "list"
        elif nargs == "?":
            spec["kind"] = "optional"
    return spec


def frontend_flags(wheel: Wheel, file: Path) -> dict[str, Spec]:
    """Return the options made from the fields of FrontendArgs."""
    flags = {
        "--" + name.replace("_", "-"): spec_of(wheel, name, annotation)
        | ({"none": True} if takes_none(wheel, annotation) else {})
        for name, annotation in wheel.fields("FrontendArgs").items()
    }
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Delete):
            text = ast.unparse(node)
            found = re.search(r"frontend_kwargs\['(\w+)'\]\['nargs'\]", text)
            if found:
                option = "--" + found[1].replace("_", "-")
                flags[option] = {"kind": "str"}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Assign):
            continue
        found = re.match(r"frontend_kwargs\['(\w+)'\]\['(action|type)'\] = (.*)", ast.unparse(node))
        if not found:
            continue
        option = "--" + found[1].replace("_", "-")
        if found[3] == "'append'":
            flags[option] = {"kind": "append"}
        elif found[3] == "json.loads":
            flags[option] = {"kind": "json"}
    return flags


def flags_of(root: Path) -> dict[str, Spec]:
    """Return every option of `vllm serve` in one release."""
    wheel = Wheel.read(root)
    arg_utils = ast.parse((root / "engine" / "arg_utils.py").read_text("utf-8"))
    flags: dict[str, Spec] = {}
    for node in arg_utils.body:
        if isinstance(node, ast.ClassDef) and node.name in ("EngineArgs", "AsyncEngineArgs"):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name == "add_cli_args":
                    flags |= Calls(wheel, item).read()
    files = [
        file
        for file in sorted((root / "entrypoints").rglob("cli_args.py"))
        if "class FrontendArgs" in file.read_text("utf-8")
    ]
    if len(files) != 1:
        raise NotUnderstoodError(f"{root}: FrontendArgs is in {len(files)} files")
    flags |= frontend_flags(wheel, files[0])
    for item in ast.parse(files[0].read_text("utf-8")).body:
        if isinstance(item, ast.FunctionDef) and item.name == "make_arg_parser":
            flags |= Calls(wheel, item).read()
    inverse = "class EnableDisableAction" in (root / "utils" / "argparse_utils.py").read_text("utf-8")
    for option, spec in flags.items():
        class_name = spec.pop("class", None)
        if class_name is not None and option in WITH_KEYS:
            spec["keys"] = [name for name in wheel.fields(class_name) if not name.startswith("_")]
        if class_name is not None and option in TYPED:
            spec["types"] = types_of(wheel, class_name)
        if inverse and spec["kind"] == "bool":
            for prefix, other in (("--enable-", "--disable-"), ("--disable-", "--enable-")):
                if option.startswith(prefix):
                    spec["inverse"] = other + option.removeprefix(prefix)
    return flags


def keywords_of(root: Path) -> dict[str, Spec]:
    """Return every keyword of LLM, EngineArgs and AsyncEngineArgs, and every quantisation method, as 'CLASS.NAME'."""
    wheel = Wheel.read(root)
    names = {f"{owner}.{name}" for owner in ("EngineArgs", "AsyncEngineArgs") for name in wheel.fields(owner)}
    for node in ast.parse((root / "entrypoints" / "llm.py").read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == "LLM":
            init = next(i for i in node.body if isinstance(i, ast.FunctionDef) and i.name == "__init__")
            names |= {f"LLM.{a.arg}" for a in (*init.args.args[1:], *init.args.kwonlyargs)}
    methods = wheel.literals.get("QuantizationMethods")
    names |= {f"QuantizationMethods.{name}" for name in (options_of(wheel, methods) if methods else ())}
    return {name: {} for name in sorted(names)}


# --------------------------------------------------------------------------------------------- output


def spans(per_release: dict[str, dict[str, Spec]]) -> dict[str, list[Spec]]:
    """Return option -> its declarations, each with the release it came with and the first release without it."""
    releases = list(per_release)
    result: dict[str, list[Spec]] = {}
    for option in sorted({option for flags in per_release.values() for option in flags}):
        entries: list[Spec] = []
        open_: Spec | None = None
        for release in releases:
            spec = per_release[release].get(option)
            body = None if open_ is None else {k: v for k, v in open_.items() if k not in ("since", "until")}
            if open_ is not None and spec != body:
                open_["until"] = release
                open_ = None
            if spec is not None and open_ is None:
                open_ = {"since": release, **spec}
                entries.append(open_)
        for entry in entries:
            if entry["since"] == releases[0]:
                del entry["since"]
        result[option] = entries
    return result


def main(arguments: list[str]) -> int:
    """Run. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheels", nargs="+", metavar="RELEASE=FOLDER", help="oldest first")
    parser.add_argument("--out", type=Path, required=True, help="folder of the three files")
    options = parser.parse_args(arguments)
    flags: dict[str, dict[str, Spec]] = {}
    variables: dict[str, dict[str, Spec]] = {}
    keywords: dict[str, dict[str, Spec]] = {}
    for pair in options.wheels:
        release, _, folder = pair.partition("=")
        root = Path(folder) / "vllm"
        flags[release] = flags_of(root)
        variables[release] = {name: {} for name in variables_of(root)}
        keywords[release] = keywords_of(root)
        sys.stderr.write(f"{release}: {len(flags[release])} options, {len(variables[release])} variables\n")
    sources = ["engine/arg_utils.py", "entrypoints/**/cli_args.py", "config/*.py", "utils/argparse_utils.py"]
    _write(options.out / "flags.json", {"sources": sources, "releases": list(flags), "flags": spans(flags)})
    document = {"sources": ["envs.py and every use of it"], "releases": list(variables), "variables": _flat(variables)}
    _write(options.out / "environment.json", document)
    sources = ["engine/arg_utils.py:EngineArgs, AsyncEngineArgs", "entrypoints/llm.py:LLM.__init__"]
    sources.append("model_executor/layers/quantization/__init__.py:QuantizationMethods")
    _write(
        options.out / "keywords.json",
        {"sources": sources, "releases": list(keywords), "keywords": _flat(keywords)},
    )
    return 0


def _flat(names: dict[str, dict[str, Spec]]) -> dict[str, Any]:
    return {name: [[e.get("since"), e.get("until")] for e in entries] for name, entries in spans(names).items()}


def _write(path: Path, document: dict[str, Any]) -> None:
    body = document.pop(list(document)[-1])
    head = json.dumps({"schema": 1, **document})[:-1]
    key = {"flags.json": "flags", "environment.json": "variables", "keywords.json": "keywords"}[path.name]
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}" for name, entry in body.items()
    )
    temporary = path.with_suffix(".tmp")
    temporary.write_text(f'{head},\n"{key}": {{\n{lines}\n}}}}\n', "utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
