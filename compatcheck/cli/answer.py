"""Verdicts on standard output, in each format of `compatcheck check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from compatcheck.resolve.configuration import Configuration
from compatcheck.resolve.verdict import Verdict


def print_verdicts(judged: list[tuple[Verdict, Configuration]], format_: str) -> None:
    """Write verdicts, each with its normalised facts, as text, json, jsonl, sarif or github annotations."""
    if format_ == "text":
        from compatcheck.report import verdict_text
        from compatcheck.report.styled import line, write

        for index, (verdict, facts) in enumerate(judged):
            write(([line()] if index else []) + verdict_text.render(verdict, facts), sys.stdout)
        return
    import msgspec

    verdicts = [verdict for verdict, _ in judged]
    if format_ in ("json", "jsonl"):
        encode = msgspec.json.encode
        if format_ == "jsonl":
            data = b"".join(encode(verdict) + b"\n" for verdict in verdicts)
        else:
            data = msgspec.json.format(encode(verdicts[0] if len(verdicts) == 1 else verdicts), indent=2) + b"\n"
        sys.stdout.buffer.write(data)
        return
    from compatcheck.report import github, sarif
    from compatcheck.report.diagnostic import of_verdict

    diagnostics = [d for verdict in verdicts for d in of_verdict(verdict)]
    if format_ == "sarif":
        sys.stdout.buffer.write(sarif.render(diagnostics))
    else:
        sys.stdout.write(github.render(diagnostics))


def print_engine_words(said: Sequence[tuple[Verdict, str]], format_: str) -> None:
    """Write what the engine itself would say, as text or as one document a verdict in json and jsonl."""
    if format_ == "text":
        from compatcheck.printable import printable

        sys.stdout.write("".join(f"{printable(words, lines=True)}\n" for _, words in said if words))
        return
    import msgspec

    documents = [
        {"document": "compatcheck-engine-words", "schema": 1, "verdict": v.verdict, "words": w} for v, w in said
    ]
    encode = msgspec.json.encode
    if format_ == "jsonl":
        data = b"".join(encode(document) + b"\n" for document in documents)
    else:
        data = msgspec.json.format(encode(documents[0] if len(documents) == 1 else documents), indent=2) + b"\n"
    sys.stdout.buffer.write(data)
