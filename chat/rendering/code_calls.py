"""What a call of a code tool is shown as, when somebody opens its card: read from its result."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chat.rendering.code_lines import CodeLine, number_code
from chat.rendering.code_map import MAX_LEVEL, MapFile, MapFolder, MapLine, group_by_folder
from chat.rendering.source_links import link_code

_HIT = re.compile(r"\d+\. (?P<path>.+?):(?P<line>\d+) \(score [\d.]+\) ?(?P<title>.*)")
_DEFINITION = re.compile(r"- (?P<path>.+?):(?P<line>\d+) \([\d,]+ lines?\) (?P<title>.*)")
_REFERENCE = re.compile(r"- (?P<path>.+?):(?P<line>\d+)\| (?P<text>.*)")
_CERTAINTY = re.compile(r"(certain|likely|same name only):")
_FILE = re.compile(r"(?P<path>\S.*):")
_NUMBERED = re.compile(r" *(?P<line>\d+)\| ?(?P<text>.*)")


@dataclass(slots=True)
class ShownCode:
    """A place in a file with some of its lines."""

    path: str
    line: int
    title: str
    url: str | None
    texts: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[CodeLine]:
        return number_code(self.texts, self.path, self.line)


@dataclass(frozen=True, slots=True)
class ShownUse:
    path: str
    line: int
    url: str | None
    text: str


@dataclass(frozen=True, slots=True)
class UseGroup:
    """Uses that are equally sure."""

    title: str
    uses: list[ShownUse]


def read_code_call(project_id: UUID, tool: str, result: str) -> dict[str, Any]:
    """Return what the card of a call shows; nothing for tools that are not about code.

    `is_told` says that it shows all that the result says, so that this itself can stay folded.
    """
    shown = _read(project_id, tool, result.split("\n"))
    return {**shown, "is_told": any(shown.values())}


def _read(project_id: UUID, tool: str, lines: Sequence[str]) -> dict[str, Any]:
    match tool:
        case "search_code":
            return {"places": list(_read_places(project_id, lines, _HIT))}
        case "find_definition":
            return {"places": list(_read_places(project_id, lines, _DEFINITION))}
        case "find_references":
            places = list(_read_places(project_id, lines, _DEFINITION))
            return {"places": places, "use_groups": list(_read_uses(project_id, lines))}
        case "get_repo_map":
            return {"map_folders": _read_map(project_id, lines)}
    return {}


def _read_places(
    project_id: UUID, lines: Sequence[str], head: re.Pattern[str]
) -> Iterator[ShownCode]:
    place = None
    for line in lines:
        if found := head.fullmatch(line):
            if place:
                yield place
            number = int(found["line"])
            url = link_code(project_id, found["path"], number)
            place = ShownCode(found["path"], number, found["title"], url)
        elif place and (numbered := _NUMBERED.fullmatch(line)):
            place.texts.append(numbered["text"])
    if place:
        yield place


def _read_uses(project_id: UUID, lines: Sequence[str]) -> Iterator[UseGroup]:
    title, uses = "", list[ShownUse]()
    for line in [*lines, "certain:"]:
        if found := _CERTAINTY.fullmatch(line):
            if uses:
                yield UseGroup(title, uses)
            title, uses = found[1].capitalize(), []
        elif title and (found := _REFERENCE.fullmatch(line)):
            number = int(found["line"])
            url = link_code(project_id, found["path"], number)
            uses.append(ShownUse(found["path"], number, url, found["text"]))


def _read_map(project_id: UUID, lines: Sequence[str]) -> list[MapFolder]:
    files: list[MapFile] = []
    for line in lines:
        if numbered := _NUMBERED.fullmatch(line):
            if files:
                files[-1].lines.append(_read_map_line(project_id, files[-1].path, numbered))
        elif found := _FILE.fullmatch(line):
            files.append(MapFile(found["path"], link_code(project_id, found["path"], None)))
    return group_by_folder(files)


def _read_map_line(project_id: UUID, path: str, numbered: re.Match[str]) -> MapLine:
    text = numbered["text"]
    level = min(MAX_LEVEL, (len(text) - len(text.lstrip(" "))) // 2)
    return MapLine(text.strip(), link_code(project_id, path, int(numbered["line"])), level)
