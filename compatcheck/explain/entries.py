"""Everything in the matrix that can be explained, in one shape."""

from __future__ import annotations

from compatcheck.explain.entry import Entry as Entry
from compatcheck.explain.linear import linear_entries
from compatcheck.explain.own_codes import own_entries
from compatcheck.matrix.load import LoadedMatrix
from compatcheck.matrix.model import Backend, BackendChange, Engine, Kernel, Rule, Source, rules_of
from compatcheck.resolve.describe import describe_condition, describe_flag, describe_grants
from compatcheck.resolve.findings import sources


def entries(loaded: LoadedMatrix) -> list[Entry]:
    """Return an entry for every rule, selector check, joint rule, kernel, refusal and backend."""
    found: list[Entry] = [_rule(code, rule, loaded) for code, rule in loaded.matrix.rules.items()]
    for name, engine in loaded.matrix.engines.items():
        found += _selector(name, engine, loaded)
        found += own_entries(name, engine, loaded)
        found += [_backend(name, engine, backend, loaded) for backend in engine.backends]
        if engine.linear is not None:
            found += linear_entries(name, engine.title, engine.linear, loaded)
    for id_, kernel in loaded.matrix.kernels.items():
        found.append(_kernel(id_, kernel, loaded))
        found += _refusals(id_, kernel, loaded)
    return found


def _rule(code: str, rule: Rule, loaded: LoadedMatrix) -> Entry:
    facts = [
        ("refused by", rule.refuser),
        ("bites", rule.bites),
        ("effect", rule.effect),
        ("where", describe_condition(rule.when)),
    ]
    if rule.versions:
        facts.append((rule.axis, rule.versions))
    if rule.kernels:
        facts.append(("kernels", ", ".join(rule.kernels)))
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
    )


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
    joint: dict[str, Entry] = {}
    for backend_name, backend in engine.backends.items():
        for rule in [rule for layer in (backend, *backend.changes) for rule in rules_of(layer)]:
            known = joint.get(rule.code)
            words = tuple(dict.fromkeys((*(known.words if known else ()), rule.words)))
            on = (
                f"{known.facts[2][1]}, {backend_name}"
                if known and backend_name not in known.facts[2][1]
                else backend_name
            )
            joint[rule.code] = Entry(
                id=rule.code,
                kind="selector rule",
                title=rule.words,
                words=words,
                facts=(
                    ("refused by", "engine"),
                    ("bites", "selection"),
                    ("backends", on),
                    ("where", describe_condition(rule.when)),
                ),
                why=rule.why,
                fix=rule.fix,
                sources=sources(rule.sources or backend.sources),
                line=loaded.line(("engines", name, "backends", backend_name)),
            )
    return [*found, *joint.values()]


def _backend(name: str, engine: Engine, backend_name: str, loaded: LoadedMatrix) -> Entry:
    backend: Backend = engine.backends[backend_name]
    facts = [("since", backend.since)]
    if backend.until:
        facts.append(("until before", backend.until))
    if backend.sms is not None:
        facts.append(("SMs", describe_flag(backend.sms, "any")))
    if backend.kv_cache_dtypes is not None:
        facts.append(("KV-cache dtypes", describe_grants(backend.kv_cache_dtypes)))
    if backend.head_sizes is not None:
        facts.append(("head sizes", describe_grants(backend.head_sizes)))
    history = [f"since {change.since}: {', '.join(_changed(change))} changed" for change in backend.changes]
    return Entry(
        id=backend_name,
        kind="backend",
        title=f"{engine.title} backend {backend_name}: {backend.title}",
        facts=tuple(facts),
        history=tuple(history),
        sources=sources(backend.sources),
        line=loaded.line(("engines", name, "backends", backend_name)),
    )


def _changed(change: BackendChange) -> list[str]:
    """Return the names of the facts that a release changed."""
    fields = (field for field in change.__struct_fields__ if field not in ("since", "sources"))
    return [field for field in fields if getattr(change, field) is not None]


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
