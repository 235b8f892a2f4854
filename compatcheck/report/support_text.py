"""Support tables for people: only KV-cache dtypes and backends of which something works, the rest in one line."""

from __future__ import annotations

from compatcheck.probe.linear import LinearPick
from compatcheck.probe.support import SupportTable
from compatcheck.report.styled import Line, line

MARKS = {"supported": "yes", "degraded": "bad", "unsupported": "-", "unknown": "?"}
STYLES = {"yes": "supported", "bad": "degraded", "-": "dim", "?": "unknown"}


def render(table: SupportTable) -> list[Line]:
    """Return the lines of one table."""
    works = [row for row in table.rows if any(v != "unsupported" for v in row.backends.values())]
    columns = [
        name
        for name in (table.rows[0].backends if table.rows else {})
        if any(row.backends[name] != "unsupported" or row.pick == name for row in works)
    ]
    library = f"FlashInfer {table.flashinfer_version or 'not installed'}"
    title = f"SM {table.sm}, {table.model}, vLLM {table.engine_version}, {library}"
    lines = [line(title, "heading")]
    if works:
        width = max(len(row.kv_cache_dtype) for row in works) + 2
        pick_width = max(len(_pick(row.pick)) for row in works) + 2
        head = "  " + "KV cache".ljust(max(width, 10)) + "picked".ljust(pick_width)
        lines.append(line(head + "  ".join(columns), "dim"))
        for row in works:
            parts = [
                ("  " + row.kv_cache_dtype.ljust(max(width, 10)), ""),
                (_pick(row.pick).ljust(pick_width), row.verdict),
            ]
            for name in columns:
                mark = MARKS[row.backends[name]]
                parts.append((mark.ljust(len(name) + 2), STYLES[mark]))
            lines.append(Line(tuple(parts)))
    nowhere = [row.kv_cache_dtype for row in table.rows if row not in works]
    if nowhere:
        lines.append(line(f"  nowhere here: {', '.join(nowhere)}", "dim"))
    for row in works:
        if row.verdict == "degraded":
            lines.append(line(f"  {row.kv_cache_dtype}: {', '.join(row.codes)}", row.verdict))
        elif row.verdict == "unsupported" and row.pick is not None:
            what = f"  {row.kv_cache_dtype}: {row.pick} is picked and fails: {', '.join(row.codes)}"
            lines.append(line(what, row.verdict))
    return lines


def render_linear(picks: tuple[LinearPick, ...]) -> list[Line]:
    """Return a line for each scheme of quantised linear layers."""
    lines = [line(f"SM {picks[0].sm}, NVFP4 linear layers", "heading")] if picks else []
    for pick in picks:
        scheme = pick.scheme.removeprefix("nvfp4_").upper()
        how = f" ({pick.compute})" if pick.compute else ""
        codes = f": {', '.join(pick.codes)}" if pick.codes else ""
        lines.append(Line(((f"  {scheme.ljust(8)}", ""), (f"{_pick(pick.kernel)}{how}{codes}", pick.verdict))))
    return lines


def _pick(name: str | None) -> str:
    return name or "nothing"
