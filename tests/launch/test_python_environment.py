"""Variables of launches in Python files: of the process, and of commands."""

from __future__ import annotations

import pytest

from compatcheck.launch.files.python.file import PythonFile
from compatcheck.launch.model import Launch
from compatcheck.launch.scan import ScanOptions, scan_text
from compatcheck.matrix.load import LoadedMatrix

HEAD = "import os, subprocess\nfrom vllm import LLM\n"
RUN = 'subprocess.run(["vllm", "serve", "m"]'


def shown(launch: Launch) -> tuple[dict[str, object], list[str]]:
    """Return the variables, `...` for those that are not known, and what is elsewhere."""
    variables: dict[str, object] = {
        name: ... if word.dynamic else word.text for name, word in launch.environment.items()
    }
    return variables, [word.text for word in launch.elsewhere]


@pytest.mark.parametrize(
    ("text", "variables", "elsewhere"),
    [
        ('os.environ.update({"X": "1"}, Y="2")\nLLM("m")', {"X": "1", "Y": "2"}, []),
        ('os.environ |= {"X": "1"}\nLLM("m")', {"X": "1"}, []),
        ('os.putenv("X", "1")\nLLM("m")', {"X": ...}, []),
        ('os.environ["X"] = "1"\nos.unsetenv("X")\nLLM("m")', {"X": ...}, []),
        ('def test_a(monkeypatch):\n    monkeypatch.setenv("X", "1")\n    LLM("m")', {"X": "1"}, []),
        ('def test_b(monkeypatch):\n    monkeypatch.setenv("X", "1")\ndef test_a():\n    LLM("m")', {}, []),
        (
            '@pytest.fixture\ndef use(monkeypatch):\n    monkeypatch.setenv("X", "1")\ndef test_a():\n    LLM("m")',
            {"X": ...},
            [],
        ),
        (
            'def test_a(monkeypatch):\n    with monkeypatch.context() as m:\n        m.setenv("X", "1")\n    LLM("m")',
            {},
            [],
        ),
        ('import modal\nimage = modal.Image.debian_slim().env({"X": "1"})\ndef f():\n    LLM("m")', {"X": ...}, []),
        ('from os import environ as e\ne["X"] = "1"\nLLM("m")', {"X": "1"}, []),
        ('if x:\n    os.environ["X"] = "1"\nLLM("m")', {"X": ...}, []),
        ('if x:\n    os.environ["X"] = "1"\n    LLM("m")', {"X": "1"}, []),
        ('if x:\n    os.environ["X"] = "1"\nelse:\n    LLM("m")', {"X": ...}, []),
        ('os.environ["X"] = "1"\nif x:\n    os.environ["X"] = "1"\nLLM("m")', {"X": "1"}, []),
        ('os.environ["X"] = "1"\ndel os.environ["X"]\nLLM("m")', {}, []),
        ('os.environ["X"] = "1"\nif x:\n    os.environ.pop("X")\nLLM("m")', {"X": ...}, []),
        ('LLM("m")\nos.environ["X"] = "1"', {}, []),
        ('def f():\n    os.environ["X"] = "1"\nLLM("m")', {"X": ...}, []),
        ('def f():\n    LLM("m")\nif __name__ == "__main__":\n    os.environ["X"] = "1"\n    f()', {"X": ...}, []),
        ('os.environ.update(load())\nLLM("m")', {}, ["load()"]),
        ('os.environ[name] = "1"\nLLM("m")', {}, ["os.environ[name]"]),
        ('os.environ["X"] = "0"\n' + RUN + ', env={"Y": "1"})', {"Y": "1"}, []),
        (RUN + ', env=dict(os.environ, X="1"))', {"X": "1"}, []),
        (RUN + ', env={**os.environ, "X": "1"})', {"X": "1"}, []),
        (RUN + ", env=pick())", {}, ["pick()"]),
        (RUN + ", env={**os.environ, **more})", {}, ["more"]),
        ('env = os.environ.copy()\nenv["X"] = "1"\n' + RUN + ", env=env)", {"X": "1"}, []),
        ('env = os.environ.copy()\nif x:\n    env["X"] = "1"\n' + RUN + ", env=env)", {"X": ...}, []),
        ("def f(env):\n    " + RUN + ", env=env)", {}, ["env"]),
        ('def f(cmd):\n    subprocess.run(cmd, env={"X": "1"})\nf(["vllm", "serve", "m"])', {"X": "1"}, []),
        ('subprocess.run("vllm serve m", shell=True, env=dict(X="1"))', {"X": "1"}, []),
        ('os.execvpe("vllm", ["vllm", "serve", "m"], {"X": "1"})', {"X": "1"}, []),
    ],
)
def test_variables(text: str, variables: dict[str, object], elsewhere: list[str]) -> None:
    (launch,) = PythonFile().launches(HEAD + text + "\n")
    assert shown(launch) == (variables, elsewhere)


RAY = 'from ray.serve.llm import LLMConfig\nLLMConfig(model_loading_config={"model_id": "Qwen/Qwen3-8B"}'


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (RAY + ", **rest)", "the keywords of **rest"),
        (RAY + ", runtime_env=env)", "what runtime_env=env holds"),
        (RAY + ', runtime_env={"env_vars": {**more}})', "what env_vars=more holds"),
        (RAY + ', engine_kwargs={"seed": 1, **more})', "the keywords of **more"),
        (HEAD + 'subprocess.run(["vllm", "serve", "Qwen/Qwen3-8B"], env=pick())', "what pick() holds"),
        (HEAD + 'os.environ.update(load())\nLLM("Qwen/Qwen3-8B")', "what load() holds"),
        (HEAD + 'if x:\n    os.environ["VLLM_BATCH_INVARIANT"] = "1"\nLLM("Qwen/Qwen3-8B")', "VLLM_BATCH_INVARIANT"),
        (HEAD + 'LLM("Qwen/Qwen3-8B", *args)', "what *args holds"),
        (HEAD + 'k = {"seed": 1}\nif x:\n    k["kv_cache_dtype"] = "fp8"\nLLM("Qwen/Qwen3-8B", **k)', "kv_cache_dtype"),
    ],
)
def test_what_is_dropped_or_unknown_is_said(text: str, missing: str, loaded: LoadedMatrix) -> None:
    scan = scan_text(loaded, "a.py", text + "\n", ScanOptions(strict=True), None)
    assert [one.verdict for one in scan.launches] == ["unknown"]
    assert missing in " ".join(diagnostic.message for diagnostic in scan.diagnostics)


def test_the_release_that_an_image_installs() -> None:
    text = HEAD + 'image = image.uv_pip_install("torch", "vllm==0.31.0")\nLLM("m")\n'
    version = PythonFile().launches(text)[0].engine_version
    assert version is not None
    assert (version.text, version.line) == ("0.31.0", 3)
    assert PythonFile().launches(text + 'other.pip_install(["vllm==0.30.0"])\n')[0].engine_version is None


def test_files_of_variables() -> None:
    text = HEAD + 'from dotenv import load_dotenv\nload_dotenv()\nload_dotenv("b.env")\nload_dotenv(pick())\nLLM("m")\n'
    files = PythonFile().launches(text)[0].env_files
    assert [(word.text, word.dynamic) for word in files] == [(".env", False), ("b.env", False), ("pick()", True)]
