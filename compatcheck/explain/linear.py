"""What can be explained of an engine's linear layers: kernels, their gates, options, the words when none is left."""

from __future__ import annotations

from compatcheck.explain.entry import Entry
from compatcheck.matrix.linear_model import Linear, LinearEnvValues, LinearKernel, LinearWords
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.versions import parse
from compatcheck.resolve.describe import describe_condition, describe_where
from compatcheck.resolve.findings import sources


def linear_entries(name: str, title: str, linear: Linear, loaded: LoadedMatrix) -> list[Entry]:
    """Return an entry for each kernel, each gate (one code on several kernels is one entry), option and refusal."""
    line = loaded.line(("engines", name, "linear"))
    found = [_kernel(kernel_name, kernel, title, linear, line) for kernel_name, kernel in linear.kernels.items()]
    return [*found, *_gates(linear, line), *_options(title, linear, line), _nothing_left(title, linear, line)]


def _kernel(name: str, kernel: LinearKernel, title: str, linear: Linear, line: str | None) -> Entry:
    meaning = linear.compute[kernel.compute]
    facts = [("since", kernel.since)]
    if kernel.until:
        facts.append(("until before", kernel.until))
    facts += [
        ("layers", ", ".join(kernel.serves)),
        ("computes", f"{kernel.compute}: {meaning.title}" + "".join(_elsewhere(kernel))),
        ("speed", meaning.speed),
        ("accuracy", meaning.accuracy),
    ]
    if kernel.kernel:
        facts.append(("library kernel", kernel.kernel))
    if kernel.multiple_of:
        n = kernel.multiple_of_n
        what = (
            f"K to multiples of {kernel.multiple_of}, N of {n}"
            if n
            else f"K and N to multiples of {kernel.multiple_of}"
        )
        facts.append(("padding", what))
    asked = [option for option, entry in linear.options.items() if name in entry.kernels]
    if asked:
        facts.append(("asked for by", ", ".join(f"--linear-backend {option}" for option in asked)))
    if kernel.env:
        facts.append(("before 0.24", f"VLLM_NVFP4_GEMM_BACKEND={kernel.env}"))
    return Entry(
        id=name,
        kind="linear kernel",
        title=f"{title} linear kernel {name}: {kernel.title}",
        words=(linear.selected_words.replace("{kernel}", name),),
        facts=tuple(facts),
        why=kernel.note,
        sources=sources(kernel.sources),
        line=line,
    )


def _elsewhere(kernel: LinearKernel) -> list[str]:
    """Return where a kernel computes in another way, as continuations of a sentence."""
    return [f"; {case.value} {describe_where(case)}" for case in kernel.compute_where]


def _gates(linear: Linear, line: str | None) -> list[Entry]:
    found: dict[str, Entry] = {}
    for name, kernel in linear.kernels.items():
        for gate in kernel.gates:
            known = found.get(gate.code)
            words = tuple(dict.fromkeys((*(known.words if known else ()), gate.words)))
            on = f"{known.facts[2][1]}, {name}" if known and name not in known.facts[2][1] else name
            found[gate.code] = Entry(
                id=gate.code,
                kind="selector rule",
                title=gate.words,
                words=words,
                facts=(
                    ("refused by", "engine"),
                    ("bites", "selection"),
                    ("linear kernels", on),
                    ("where", describe_condition(gate.when)),
                ),
                why=gate.why,
                fix=gate.fix,
                sources=sources(gate.sources or kernel.sources),
                line=line,
            )
    return list(found.values())


def _options(title: str, linear: Linear, line: str | None) -> list[Entry]:
    values = ", ".join(f"{name} (since {option.since})" for name, option in linear.options.items() if option.kernels)
    words = [entry.words for entry in (*linear.unmatched_words, *linear.ignored_words)]
    first = min((option.since or "0" for option in linear.options.values()), key=parse, default="0")
    return [
        Entry(
            id="linear-backend-not-in-release",
            kind="selector rule",
            title=f"The {title} release does not know the value of --linear-backend",
            words=("argument --linear-backend: invalid choice: '{linear_backend}'",),
            facts=(("refused by", "engine"), ("bites", "config"), ("values for NVFP4 layers", values)),
            why=f"The option came with {first}, and later releases added values.",
            fix="Use a release that has the value, or another way to choose the kernel.",
            sources=sources(linear.sources),
            line=line,
        ),
        Entry(
            id="linear-gemm-env-not-in-release",
            kind="selector rule",
            title=f"The {title} release does not know the value of VLLM_NVFP4_GEMM_BACKEND",
            words=tuple(entry.words.partition("{values}")[0].strip() for entry in linear.env_words),
            facts=(
                ("refused by", "engine"),
                ("bites", "init"),
                *((f"values {_releases(entry)}", ", ".join(entry.values)) for entry in linear.env_values),
            ),
            why="Every variable is read once the engine core stands, so the start fails whatever the model.",
            fix="Write one of the values, or remove it; releases without the variable have --linear-backend.",
            sources=sources(
                [s for values_of in linear.env_values for s in values_of.sources]
                + [s for said in linear.env_words for s in said.sources]
            ),
            line=line,
        ),
        Entry(
            id="linear-backend-overridden",
            kind="selector rule",
            title="Batch invariance overrides --linear-backend",
            words=tuple(entry.words for entry in linear.overridden_words),
            facts=(("refused by", "engine"), ("bites", "selection"), ("effect", "note")),
            why="Batch invariance is decided before the option is looked at.",
            fix="Leave one of them out.",
            sources=sources(linear.sources),
            line=line,
        ),
        Entry(
            id="linear-backend-not-for-layer",
            kind="selector rule",
            title="--linear-backend has no kernel for this layer",
            words=tuple(words),
            facts=(("refused by", "engine"), ("bites", "selection"), ("values for NVFP4 layers", values)),
            why=f"{title} refused in its first releases with the option, and later picks as if it were not given.",
            fix="Leave --linear-backend out, or name a value that has a kernel for the layer.",
            sources=sources(linear.sources),
            line=line,
        ),
    ]


def _releases(entry: LinearEnvValues) -> str:
    return " ".join(
        part for part in (entry.since and f"since {entry.since}", entry.until and f"before {entry.until}") if part
    )


def _nothing_left(title: str, linear: Linear, line: str | None) -> Entry:
    lines: list[LinearWords] = [*linear.none_words, *(w for w in linear.forced_words if not w.words.startswith("{"))]
    lines += [*linear.scheme_words, *linear.disabled_words]
    return Entry(
        id="no-linear-kernel",
        kind="selector rule",
        title="No kernel for the linear layer",
        words=tuple(entry.words.replace("{reasons}", "").strip() for entry in lines),
        facts=(("refused by", "engine"), ("bites", "selection"), ("order", "see `compatcheck check --linear`")),
        why=f"Every kernel of {title}'s order, or the one asked for, is refused by a gate; its line says why.",
        fix="compatcheck check --linear with the same facts names what is picked without the option.",
        sources=sources(linear.sources),
        line=line,
    )
