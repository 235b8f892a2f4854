"""Everything in the matrix that can be explained, in one shape."""

from __future__ import annotations

from compatcheck.explain.backend import backend_entry
from compatcheck.explain.entry import Entry as Entry
from compatcheck.explain.launch_codes import launch_entries
from compatcheck.explain.linear import linear_entries
from compatcheck.explain.own_codes import own_entries
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import Engine, Kernel, Rule, Source, rules_of
from compatcheck.matrix.versions import parse
from compatcheck.resolve.describe import describe_bites, describe_condition, describe_grants
from compatcheck.resolve.findings import sources


def entries(loaded: LoadedMatrix, version: str | None = None) -> list[Entry]:
    """Return an entry for every rule, selector check, joint rule, kernel, refusal and backend.

    A backend's facts are those of the release that `version` names, else of the newest.
    """
    found: list[Entry] = [_rule(code, rule, loaded) for code, rule in loaded.matrix.rules.items()]
    for name, engine in loaded.matrix.engines.items():
        found += _selector(name, engine, loaded)
        found += own_entries(name, engine, loaded)
        found += [backend_entry(name, engine, backend, loaded, version) for backend in engine.backends]
        found += _settings(name, engine, loaded)
        if engine.linear is not None:
            found += linear_entries(name, engine.title, engine.linear, loaded)
    for id_, kernel in loaded.matrix.kernels.items():
        found.append(_kernel(id_, kernel, loaded))
        found += _refusals(id_, kernel, loaded)
    return [*found, *launch_entries()]


def _rule(code: str, rule: Rule, loaded: LoadedMatrix) -> Entry:
    facts = [
        ("refused by", "nobody" if rule.refuser == "advisory" else rule.refuser),
        ("bites", describe_bites(rule.bites)),
        ("effect", rule.effect),
        ("where", describe_condition(rule.when)),
    ]
    if rule.versions:
        facts.append((rule.axis, rule.versions))
    if rule.kernels:
        facts.append(("kernels", ", ".join(rule.kernels)))
    if rule.varies:
        facts.append(("depends on", rule.varies))
    if rule.settled_by:
        facts.append(("a whole launch settles it", rule.settled_by.replace("_", " ")))
    facts.append(("known by", rule.confirmed))
    return Entry(
        id=code,
        kind="advisory" if rule.refuser == "advisory" else "rule",
        title=rule.title,
        words=tuple(rule.words),
        facts=tuple(facts),
        why=rule.why,
        fix=rule.fix,
        history=tuple(rule.history),
        recheck=rule.recheck,
        sources=sources(rule.sources),
        line=loaded.line(("rules", code)),
        narrow=_one_backend(rule),
        symptom=rule.symptom,
    )


def _one_backend(rule: Rule) -> bool:
    """Return whether a rule's condition names one backend."""
    backend = rule.when.get("backend")
    return isinstance(backend, str) or (isinstance(backend, list) and len(backend) == 1)


def _selector(name: str, engine: Engine, loaded: LoadedMatrix) -> list[Entry]:
    """The selector's questions, and each backend's joint rules (the same code on several backends is one entry)."""
    found = [
        Entry(
            id=check.code,
            kind="selector check",
            title=f"{engine.title}'s selector: {check.words}",
            words=(check.words,),
            facts=(("refused by", "engine"), ("bites", "selection"), ("asked of", "every backend, in this order")),
            why="The selector asks each backend in turn; the words do not say which value was refused.",
            fix="compatcheck check with the same facts names the value, what is accepted, and what works instead.",
            line=loaded.line(("engines", name, "selector")),
        )
        for check in engine.selector
        if check.check not in ("imports", "joint_rules")
    ]
    found += [
        Entry(
            id=check.code,
            kind="selector check",
            title=f"{engine.title}'s MLA prefill selector: {check.words}",
            words=(_trimmed(check.words),),
            facts=(
                ("refused by", "engine"),
                ("bites", "init"),
                ("asked of", "every MLA prefill backend, in this order"),
            ),
            why="Prefill of dense MLA layers has backends of its own; where each refuses, the layer cannot be built.",
            fix="compatcheck select with the model's MLA dimensions shows each prefill backend and its reason.",
            line=loaded.line(("engines", name, "prefill_selector")),
        )
        for check in engine.prefill_selector
        if check.check not in ("imports", "joint_rules")
    ]
    joint: dict[str, Entry] = {}
    both = [*engine.backends.items(), *engine.mla_prefill_backends.items()]
    for backend_name, backend in both:
        for rule in [rule for layer in (backend, *backend.changes) for rule in rules_of(layer)]:
            known = joint.get(rule.code)
            words = tuple(dict.fromkeys((*(known.words if known else ()), rule.words, *rule.more_words)))
            on = (
                f"{known.facts[2][1]}, {backend_name}"
                if known and backend_name not in known.facts[2][1]
                else backend_name
            )
            joint[rule.code] = Entry(
                id=rule.code,
                kind="selector rule",
                title=rule.title or (known.title if known else rule.words),
                words=words,
                facts=(
                    ("refused by", "package" if rule in (backend.import_rules or ()) else "engine"),
                    ("bites", "selection"),
                    ("backends", on),
                    ("where", describe_condition(rule.when)),
                ),
                why=rule.why,
                fix=rule.fix,
                sources=sources(rule.sources or backend.sources),
                line=loaded.line(_at(name, engine, backend_name)),
                narrow=", " not in on,
            )
    return [*found, *joint.values()]


def _at(name: str, engine: Engine, backend: str) -> tuple[str, ...]:
    return ("engines", name, "backends" if backend in engine.backends else "mla_prefill_backends", backend)


def _trimmed(words: str) -> str:
    """Return a refusal's words without what depends on the backend."""
    return words.replace("{supported_dimensions}", "")


def _settings(name: str, engine: Engine, loaded: LoadedMatrix) -> list[Entry]:
    """What the engine sets by itself for a model family, found by what its log says."""
    found: list[Entry] = []
    for index, setting in enumerate(engine.model_settings):
        if setting.words is None:
            continue
        becomes = ", ".join(f"{field}={value}" for field, value in setting.set.items())
        since = setting.since or min(engine.releases, key=parse)
        found.append(
            Entry(
                id=f"model-setting-{setting.types[0]}-{index}",
                kind="model setting",
                title=f"{engine.title} sets {becomes} for {', '.join(setting.types)}",
                words=(setting.words,),
                facts=(
                    ("since", since),
                    *((("until before", setting.until),) if setting.until else ()),
                    *((("where", describe_condition(setting.when)),) if setting.when else ()),
                ),
                why="The model's own configuration class changes it before any backend is asked.",
                fix="Name the value on the command line to keep it.",
                sources=sources(setting.sources),
                line=loaded.line(("engines", name, "model_settings")),
            )
        )
    return found


def _kernel(id_: str, kernel: Kernel, loaded: LoadedMatrix) -> Entry:
    facts = [("symbol", kernel.symbol), ("phase", kernel.phase), ("SMs", ", ".join(kernel.sms))]
    if kernel.since:
        facts.append((f"in {kernel.library} since", kernel.since))
    for label, text in (
        ("query", ", ".join(kernel.q_dtypes)),
        ("KV cache", describe_grants(kernel.kv_dtypes) if kernel.kv_dtypes else ""),
        ("head sizes", describe_grants(kernel.head_sizes) if kernel.head_sizes else ""),
        ("page sizes", describe_grants(kernel.page_sizes) if kernel.page_sizes else ""),
        ("needs", ", ".join(kernel.needs)),
    ):
        if text:
            facts.append((label, text))
    return Entry(
        id=id_,
        kind="kernel",
        title=kernel.title,
        facts=tuple(facts),
        why=kernel.note,
        sources=sources(kernel.sources),
        line=loaded.line(("kernels", id_)),
    )


def _refusals(id_: str, kernel: Kernel, loaded: LoadedMatrix) -> list[Entry]:
    return [
        Entry(
            id=refusal.code,
            kind="library refusal",
            title=f"{id_}: {refusal.exception}",
            words=(f"/{refusal.match}/",),
            facts=(
                ("refused by", kernel.library),
                ("bites", refusal.bites),
                ("exception", refusal.exception),
                ("where", describe_condition(refusal.when)),
                ("versions", refusal.versions or "all"),
            ),
            why=refusal.why,
            fix=refusal.fix,
            sources=sources(_or(refusal.sources, kernel.sources)),
            line=loaded.line(("kernels", id_)),
        )
        for refusal in kernel.refusals
    ]


def _or(first: list[Source], second: list[Source]) -> list[Source]:
    return first or second
