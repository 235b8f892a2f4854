"""The run as JUnit XML, for CI systems: a contradiction is a failure, what proves nothing is skipped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from compatcheck.atomic import write_atomically
from compatcheck.smoke.fingerprint import Fingerprint
from compatcheck.smoke.outcome import Judged

# XML 1.0 has no control characters, not even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit_xml(judged: Sequence[Judged], fingerprint: Fingerprint) -> bytes:
    """Return the document: one test case per cell, its class the kernel."""
    failures = sum(j.judgement == "contradicted" for j in judged)
    skipped = sum(j.judgement == "unproven" for j in judged)
    seconds = sum(j.result.timings.get("total", 0.0) for j in judged)
    suite = ET.Element(
        "testsuite",
        name="compatcheck.smoke",
        tests=str(len(judged)),
        failures=str(failures),
        errors="0",
        skipped=str(skipped),
        time=f"{seconds:.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in fingerprint.identity().items():
        if value is not None:
            ET.SubElement(properties, "property", name=name, value=_clean(str(value)))
    for item in judged:
        kernel, _, rest = item.result.id.partition("/")
        case = ET.SubElement(
            suite,
            "testcase",
            classname=_clean(kernel),
            name=_clean(rest),
            time=f"{item.result.timings.get('total', 0.0):.3f}",
        )
        if item.judgement == "contradicted":
            node = ET.SubElement(case, "failure", message=_clean(item.why), type=item.result.outcome)
            node.text = _clean(f"{item.result.exception or ''}: {item.result.text or ''}".strip(": "))
        elif item.judgement == "unproven":
            ET.SubElement(case, "skipped", message=_clean(item.why))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + text + b"\n"


def write_junit(path: Path, judged: Sequence[Judged], fingerprint: Fingerprint) -> None:
    """Write atomically. Raises OSError."""
    write_atomically(path, junit_xml(judged, fingerprint), parents=True)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
