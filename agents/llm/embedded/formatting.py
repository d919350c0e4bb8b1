"""Passages as Markdown: bullets and tables with their citations, and nothing in them obeyed."""

import re
from collections.abc import Iterable, Sequence

from agents.llm.embedded.passages import Unit
from agents.llm.embedded.scoring import dangling

Group = tuple[str, list[Unit]]
"""A heading to show, perhaps empty, and units below it."""

_MOST_CHARS = 700
"""What is longer than any sentence is shown from its beginning."""
_CODE_SPAN = re.compile(r"(`+[^`]*`+)")
_ACTIVE = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)")


def shown(groups: Iterable[Group], *, numbered: bool = False) -> list[str]:
    blocks = []
    for heading, units in groups:
        head = f"**{as_text(heading)}**" if heading else ""
        prose = [unit for unit in units if unit.kind != "row"]
        body = "\n".join(
            _line(unit, numbered, alone=unit.before not in prose, within=bool(heading))
            for unit in prose
        )
        tables = list(_tables([unit for unit in units if unit.kind == "row"]))
        first_is_row = bool(units) and units[0].kind == "row"
        ordered = [*tables, body] if first_is_row else [body, *tables]
        ordered = [block for block in ordered if block]
        if head and ordered:
            ordered[0] = f"{head}\n\n{ordered[0]}"
        blocks += ordered
    return blocks


def _line(unit: Unit, numbered: bool, alone: bool, within: bool) -> str:
    cite = f"[{unit.path}:{unit.line}]"
    if unit.kind == "code" and len(unit.text) <= _MOST_CHARS:
        return f"- {cite}\n\n" + "\n".join(f"      {line}" for line in unit.text.split("\n")) + "\n"
    text = " ".join(unit.text.split())
    if alone and dangling(unit) and unit.before is not None:
        text = f"{unit.before.text} {text}"
    mark = unit.mark if numbered and unit.mark[:-1].isdigit() else "-"
    under = "" if within or unit.heading in ("", unit.title) else f" · {as_text(unit.heading)}"
    return f"{mark} {as_text(text)} {cite}{under}"


def _tables(rows: Sequence[Unit]) -> Iterable[str]:
    """Return rows below the head of their table, each table with its citations."""
    by_table: dict[tuple[str, str], list[Unit]] = {}
    for row in rows:
        by_table.setdefault((row.path, row.lead), []).append(row)
    for (path, lead), found in by_table.items():
        cites = " ".join(f"[{path}:{row.line}]" for row in found)
        lines = [*filter(None, [as_text(lead)]), *(as_text(row.text) for row in found)]
        yield "\n".join(lines) + f"\n\n{cites}"


def as_text(text: str) -> str:
    """Return text of a note as text: tags and images are shown, not obeyed."""
    if len(text) > _MOST_CHARS:
        head = text[:_MOST_CHARS]
        text = f"{head.rpartition(' ')[0] or head} …"
    parts = _CODE_SPAN.split(text)
    return "".join(p if p.startswith("`") else _ACTIVE.sub(r"\\\g<0>", p) for p in parts)
