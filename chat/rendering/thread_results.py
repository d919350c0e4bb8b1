"""What the thread tools told the model, read back for their cards: entries with their types."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from chat.rendering.source_links import link_entry

MAX_TEXT_CHARS = 400
_HIT = re.compile(
    r"\d+\. (?P<thread>.+)#(?P<number>\d+) \(score [\d.]+\) (?P<kind>\w+), (?P<rest>.+)"
)
_LISTED = re.compile(r"- (?P<thread>.+) \((?P<rest>.*\d entr(?:y|ies), last on [\d-]+)\)")
_READ = re.compile(r"#(?P<number>\d+) (?P<kind>\w+), (?P<rest>.+)")
_HEAD = re.compile(r"(?P<thread>.+) \(.*\d entr(?:y|ies), last on [\d-]+\)")
_PUSHED = re.compile(r".*?added (?P<thread>.+)#(?P<number>\d+) \((?P<kind>\w+)\)\.", re.IGNORECASE)
_TEXT_MARK = "  | "


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry, or a thread if it has no number. `rest` says when, by whom, and how many."""

    thread: str
    number: int | None
    kind: str
    rest: str
    text: str
    url: str | None


def read_entries(result: str, project_id: UUID) -> list[ShownEntry]:
    """Return what a result names, in its order; nothing for one that is no list of entries."""
    return [
        ShownEntry(
            thread,
            number,
            kind,
            rest,
            text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]}…",
            link_entry(project_id, thread, number),
        )
        for thread, number, kind, rest, text in _parse(result.split("\n"))
    ]


def _parse(lines: list[str]) -> Iterator[tuple[str, int | None, str, str, str]]:
    head = _HEAD.fullmatch(lines[0])
    if head and not lines[0].startswith("- "):
        yield from _parse_reading(head["thread"], lines[1:])
        return
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if hit := _HIT.fullmatch(line):
            yield hit["thread"], int(hit["number"]), hit["kind"], hit["rest"], below.strip()
        elif listed := _LISTED.fullmatch(line):
            yield listed["thread"], None, "", listed["rest"], ""
        elif pushed := _PUSHED.fullmatch(line):
            yield pushed["thread"], int(pushed["number"]), pushed["kind"], "", ""


def _parse_reading(
    thread: str, lines: list[str]
) -> Iterator[tuple[str, int | None, str, str, str]]:
    texts: dict[tuple[int, str, str], list[str]] = {}
    text: list[str] = []
    for line in lines:
        if found := _READ.fullmatch(line):
            text = texts.setdefault((int(found["number"]), found["kind"], found["rest"]), [])
        elif line.startswith(_TEXT_MARK):
            text.append(line.removeprefix(_TEXT_MARK))
    for (number, kind, rest), told in texts.items():
        yield thread, number, kind, rest, "\n".join(told)
