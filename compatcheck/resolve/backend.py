"""One attention backend at one release: its facts merged, its checks compiled, in the engine's order."""

from __future__ import annotations

from collections.abc import Callable, Collection
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from compatcheck.matrix.model import (
    Backend,
    BackendFacts,
    Grants,
    JointRule,
    Limited,
    SelectorCheck,
)
from compatcheck.matrix.versions import parse
from compatcheck.resolve.clusters import SIZES, Answer, cluster, in_order
from compatcheck.resolve.conditions import AllOf, AnyOf, Compiler, Constant, Not, Predicate
from compatcheck.resolve.judgement import Judgement, Said
from compatcheck.resolve.narrowing import narrow, settled
from compatcheck.resolve.pages import Pages
from compatcheck.resolve.refusals import FeatureRefused, FirstOf, NonCausalDcp, Refused
from compatcheck.resolve.words import asked_fields, fill, placeholders

L = TypeVar("L", bound=Limited)

FACT_FIELDS = BackendFacts.__struct_fields__

FLAG_OF_FIELD = {
    "use_mm_prefix": "mm_prefix",
    "has_sink": "sinks",
    "use_per_head_quant_scales": "per_head_quant_scales",
    "sliding_window": "sliding_window",
    "use_rswa": "rswa",
    "use_non_causal": "non_causal",
    "use_batch_invariant": "batch_invariance",
    "use_kv_connector": "kv_connector",
    "use_pcp": "pcp",
    "use_dcp": "dcp",
    "use_adaptive_verification": "query_lens_mismatch",
}
"""Configuration field that asks for a feature -> the backend's flag that grants it."""

_READ = {
    "joint_rules": ("joint_rules",),
    "imports": ("import_rules",),
    "non_mla": ("mla",),
    "non_sparse": ("sparse",),
    "sm": ("sms",),
    "dtype": ("dtypes",),
    "attn_type": ("attn_types",),
    "head_size": ("head_sizes",),
    "kv_cache_dtype": ("kv_cache_dtypes",),
    "block_size": ("block_sizes", "block_size_match"),
    "dependency": ("missing_dependency",),
    "mla_dimensions": ("mla_dimensions", "mla_dimensions_named"),
}
"""Question of the selector -> the facts that decide its checks, where they are not the one of its name."""

_CACHE_LIMIT = 65536
_NOTHING: frozenset[str] = frozenset()


def in_release(since: str, until: str | None, release: str) -> bool:
    """Return whether an entry is part of a release."""
    at = parse(release)
    return parse(since) <= at and (until is None or at < parse(until))


def of_release(entries: list[L], release: str) -> list[L]:
    """Return the lines of a list that a release has."""
    return [entry for entry in entries if in_release(entry.since or "0", entry.until, release)]


def merge(backends: dict[str, Backend], name: str, release: str, defaults: BackendFacts) -> dict[str, Any]:
    """Return every fact of a backend at a release: own, then changed, then its parent's, then the engine's default."""
    backend = backends[name]
    facts = dict.fromkeys(FACT_FIELDS)
    applied = [change for change in backend.changes if parse(change.since) <= parse(release)]
    for layer in (backend, *sorted(applied, key=lambda change: parse(change.since))):
        for field in FACT_FIELDS:
            value = getattr(layer, field)
            if (value is not None and value != []) or (
                value == [] and field in ("head_sizes", "import_rules", "joint_rules", "mla_dimensions")
            ):
                facts[field] = value
    for field in ("import_rules", "joint_rules"):
        rules: list[JointRule] | None = facts[field]
        if rules:
            facts[field] = of_release(rules, release)
    fallback = (
        merge(backends, backend.extends, release, defaults) if backend.extends else msgspec.structs.asdict(defaults)
    )
    return {field: fallback[field] if facts[field] is None else facts[field] for field in FACT_FIELDS}


class Check:
    """One question of the selector: does it refuse, in which words."""

    def __init__(
        self, code: str, words: str, refuses: Predicate, rule: JointRule | None = None, *, imports: bool = False
    ) -> None:
        self.code = code
        self.words = words
        self.rule = rule
        self.imports = imports
        """The backend's module cannot be imported: no other check is asked then."""
        self.predicate = refuses
        self.test = refuses.test
        """Answers as `refuses` does, and keeps nothing: for a caller who keeps answers himself."""
        self.fields = sorted(refuses.fields)
        self._key = attrgetter(*self.fields) if self.fields else (lambda facts: None)
        self._cache: dict[Any, bool | None] = {}
        self._missing: dict[Any, frozenset[str]] = {}
        self._said: dict[tuple[bool | None, Any], Said] = {}
        self.asks = placeholders(words)
        self.told = refuses.fields | asked_fields(self.asks)
        """The fields that the answer and a refusal's text can depend on."""
        self.key = attrgetter(*sorted(self.told)) if self.told else (lambda facts: None)
        own = code.removeprefix("selector-").replace("-", "_")
        named = asked_fields(self.asks) | (self.told & (set(rule.when) if rule is not None else {own}))
        self.named = frozenset(named)
        self.text = attrgetter(*sorted(named)) if named else (lambda facts: None)
        """Gives what a refusal names: a condition's own fields, or the one that the question is about."""

    def refuses(self, facts: Any) -> bool | None:
        """Return True, False or None (a fact is missing)."""
        key = self._key(facts)
        try:
            return self._cache[key]
        except KeyError:
            if len(self._cache) > _CACHE_LIMIT:
                self._cache.clear()
            answer = self._cache[key] = self.predicate.test(facts)
            return answer

    def never(self, facts: Any) -> bool:
        """Return whether it is False for these facts, whatever their sizes."""
        return settled(self.predicate, facts, SIZES) is False

    def missing(self, facts: Any) -> frozenset[str]:
        """Return the missing facts that keep it from deciding."""
        return self.predicate.missing(facts)

    def say(self, facts: Any) -> str:
        """Return the engine's words for this refusal."""
        return fill(self.words, facts) if self.asks else self.words

    def left(self, facts: Any, free: Collection[str]) -> Predicate:
        """Return when it refuses facts that differ from these only in the `free` fields."""
        return narrow(self.predicate, facts, free)

    def said(self, facts: Any, refuses: bool | None) -> Said:
        """Return an answer other than False, with all that a verdict repeats of it; equal ones are one object."""
        missing = _NOTHING if refuses else self._missed(facts)
        key = (refuses, self.text(facts) if refuses else missing)
        said = self._said.get(key)
        if said is None:
            if len(self._said) > _CACHE_LIMIT:
                self._said.clear()
            said = self._said[key] = Said(self, self.say(facts) if refuses else None, missing)
        return said

    def _missed(self, facts: Any) -> frozenset[str]:
        key = self.key(facts)
        missing = self._missing.get(key)
        if missing is None:
            if len(self._missing) > _CACHE_LIMIT:
                self._missing.clear()
            missing = self._missing[key] = self.missing(facts)
        return missing


class BackendProgram:
    """A backend's checks at one release, ready to be asked. Releases that say the same of the backend share it."""

    def __init__(
        self,
        name: str,
        backends: dict[str, Backend],
        release: str,
        defaults: BackendFacts,
        selector: list[SelectorCheck],
        compiler: Compiler,
    ) -> None:
        self.name = name
        self.backend = backends[name]
        self.facts = merge(backends, name, release, defaults)
        self._compiler = compiler
        self._members = [merge(backends, member, release, defaults) for member in self.backend.members]
        self.checks: list[Check] = []
        self.pages = Pages(self.facts["block_sizes"], compiler)
        self.unasked: Predicate = compiler.flag(self.facts["unasked"] or False)
        self.answered_by_model = frozenset(self.facts["answered_by_model"] or ())
        for check in selector:
            if in_release(check.since or "0", check.until, release):
                self.checks += self._built(check)
        self._ask: list[Callable[[Any], Answer[Check]]] | None = None
        self._judgements: dict[tuple[Answer[Check], ...], Judgement] = {}
        self._judged: dict[tuple[Said, ...], Judgement] = {}

    def judge(self, facts: Any) -> Judgement:
        """Return what the selector says: the checks that refuse, in its order and words, and the missing facts."""
        asked = self._ask
        if asked is None:
            asked = self._ask = [one.answer for one in cluster(self.checks, Check.refuses)]
        answers = tuple([ask(facts) for ask in asked])
        judgement = self._judgements.get(answers)
        if judgement is None:
            if len(self._judgements) > _CACHE_LIMIT:
                self._judgements.clear()
            answered = [check.said(facts, says) for _, check, says in in_order(answers)]
            judgement = self._judgements[answers] = self.judgement(answered)
        return judgement

    def judgement(self, answered: list[Said]) -> Judgement:
        """Return what the answers of checks amount to that do not let pass, given in the selector's order."""
        key = tuple(answered)
        judgement = self._judged.get(key)
        if judgement is None:
            if len(self._judged) > _CACHE_LIMIT:
                self._judged.clear()
            judgement = self._judged[key] = self._judge(answered)
        return judgement

    def _judge(self, answered: list[Said]) -> Judgement:
        unimportable = self.facts["unimportable"]
        if unimportable:
            return Judgement(self.name, [], (unimportable,))
        refusals = [said for said in answered if said.words is not None]
        for said in refusals:
            if said.check.imports:
                return Judgement(self.name, [said], (str(said.words),))
        missing = _NOTHING.union(*[said.missing for said in answered])
        return Judgement(self.name, refusals, tuple([str(said.words) for said in refusals]), missing)

    # ------------------------------------------------------------------------------------- compile

    def _built(self, check: SelectorCheck) -> list[Check]:
        """Return a question's checks; backends and releases that state the same for it share them."""
        fields = _READ.get(check.check) or (FLAG_OF_FIELD.get(check.check, check.check),)
        if "{supported_dimensions}" in check.words:
            fields = (*fields, *_READ["mla_dimensions"])  # `_worded` reads them, whatever the question
        stated = [facts.get(field) for facts in (self.facts, *self._members) for field in fields]
        written = [one for many in stated for one in (many if isinstance(many, list) else [many])]
        shape = tuple([len(one) if isinstance(one, list) else None for one in stated])
        prefixes = tuple(self.backend.members) if check.check == "joint_rules" else ()
        return self._compiler.once((shape, prefixes), (check, *written), lambda: self._build(check))

    def _build(self, check: SelectorCheck) -> list[Check]:
        name = check.check
        if name == "joint_rules":
            return self._joint_rules()
        if name == "imports":
            return self._first_of([("", rule) for rule in self.facts["import_rules"] or []], imports=True)
        predicate = self._predicate(name)
        return [] if predicate is None else [Check(check.code, self._worded(check.words), predicate)]

    def _worded(self, words: str) -> str:
        if "{supported_dimensions}" not in words:
            return words
        dims = self.facts["mla_dimensions"]
        names = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        supported = ", ".join(
            "(" + ", ".join(f"{n}={v}" for n, v in zip(names, triple, strict=True)) + ")" for triple in dims or []
        )
        if self.facts["mla_dimensions_named"] is False:
            return words.replace("{supported_dimensions}", "")
        return words.replace("{supported_dimensions}", f"; supported: {supported}" if supported else "")

    def _predicate(self, name: str) -> Predicate | None:
        own = self.facts
        if name in FLAG_OF_FIELD:
            flag = FLAG_OF_FIELD[name]
            granted = self._compiler.flag(own[flag])
            return None if isinstance(granted, Constant) and granted.test(None) else FeatureRefused(name, granted)
        if name == "mla":
            return None if own["mla"] else self._compiler.condition({"use_mla": True})
        if name == "non_mla":
            return self._compiler.condition({"use_mla": False}) if own["mla"] else None
        if name == "sparse":
            return None if own["sparse"] else self._compiler.condition({"use_sparse": True})
        if name == "non_sparse":
            return self._compiler.condition({"use_sparse": False}) if own["sparse"] else None
        if name == "non_causal_dcp":
            return NonCausalDcp(self._compiler.flag(own["non_causal_dcp"]))
        if name == "sm":
            return Refused("sm", self._everywhere("sms"), None)
        if name == "dtype":
            return Refused("dtype", self._listed("dtype", "dtypes"), None)
        if name == "attn_type":
            return Refused("attn_type", self._listed("attn_type", "attn_types"), None)
        if name in ("head_size", "kv_cache_dtype"):
            if not any(facts[f"{name}s"] for facts in (own, *self._members)):
                return None  # any value will do, so a missing one is no missing fact
            return Refused(name, self._granted(name, f"{name}s"), None)
        if name == "block_size":
            return Refused(name, self._blocks(own["block_sizes"]), False)
        if name == "dependency":
            return self._compiler.condition(own["missing_dependency"]) if own["missing_dependency"] else None
        if name == "mla_dimensions":
            return self._dimensions(own["mla_dimensions"])
        raise ValueError(f"selector check {name!r} is not one that compatcheck knows")

    def _everywhere(self, field: str) -> Predicate:
        """A flag that must hold for the backend and for each member."""
        parts = [
            self._compiler.flag(facts[field]) for facts in (self.facts, *self._members) if facts[field] is not None
        ]
        return AllOf(parts)

    def _listed(self, field: str, key: str) -> Predicate:
        parts = [
            self._compiler.condition({field: list(facts[key])})
            for facts in (self.facts, *self._members)
            if facts[key] is not None
        ]
        return AllOf(parts)

    def _granted(self, field: str, key: str) -> Predicate:
        """Accepted by one grant of the backend, and by one grant of each member. No grants at all: anything."""
        return AllOf([self._grants(field, facts[key]) for facts in (self.facts, *self._members) if facts[key]])

    def _grants(self, field: str, grants: Grants) -> Predicate:
        return AnyOf([self._compiler.condition({field: g.values, **_joined(g.when)}) for g in grants])

    def _blocks(self, grants: Grants | None) -> Predicate:
        if not grants:
            return Constant(True)
        exact = self.facts["block_size_match"] == "exact"
        parts: list[Predicate] = []
        for grant in grants:
            for size in grant.values if isinstance(grant.values, list) else [grant.values]:
                test = size if exact else {"multiple_of": size}
                parts.append(self._compiler.condition({"block_size": test, **_joined(grant.when)}))
        return AnyOf(parts)

    def _dimensions(self, triples: list[list[int]] | None) -> Predicate | None:
        if not triples:
            return None
        return Not(
            AnyOf(
                [
                    self._compiler.condition({"qk_nope_head_dim": n, "qk_rope_head_dim": r, "v_head_dim": v})
                    for n, r, v in triples
                ]
            )
        )

    def _joint_rules(self) -> list[Check]:
        rules: list[tuple[str, JointRule]] = []
        for index, (member, facts) in enumerate(zip(self.backend.members, self._members, strict=True)):
            rules += [
                (f"{member}: ", rule)
                for rule in facts["joint_rules"] or []
                if index == 0 or rule.when.get("use_mm_prefix") is not True
            ]
        rules += [("", rule) for rule in self.facts["joint_rules"] or []]
        return self._first_of(rules)

    def _first_of(self, rules: list[tuple[str, JointRule]], *, imports: bool = False) -> list[Check]:
        """Return a check for each rule, which speaks where no earlier one does."""
        checks: list[Check] = []
        earlier: list[Predicate] = []
        for prefix, rule in rules:
            own = self._compiler.stated(rule.when)
            checks.append(Check(rule.code, prefix + rule.words, FirstOf(list(earlier), own), rule, imports=imports))
            earlier.append(own)
        return checks


def _joined(when: dict[str, Any] | None) -> dict[str, Any]:
    return {"all_of": [when]} if when else {}
