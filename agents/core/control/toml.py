"""TOML that somebody wrote: read, checked against a schema, with the place of every mistake.

    SCHEMA = TomlTable({
        "rule": TomlTable({"id": TomlKey(TEXT, is_required=True), "once": TomlKey(TRUTH)}),
        "action": TomlTable({"type": TomlKey(TEXT, words=("log", "stop"))}, is_list=True),
    })
    document = read_toml(text, SCHEMA)
    document.values["rule"]["id"]
    document.parse_expression(("condition", "expression"), LANGUAGE, TRUTH)
    document.refuse(("rule", "id"), "there is another rule with this id")
    document.check()

Nothing is raised before `check`, which tells all problems at once. What was refused or is missing
has its default, so that a reader can go on.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agents.core.control.expression import Expression, InvalidExpression, parse_expression
from agents.core.control.kinds import ANY, NUMBER, TEXT, ListKind, MapKind, ValueKind, fits, kind_of
from agents.core.control.language import Language
from agents.core.control.problems import InvalidText, PlacedProblem, suggest_name
from agents.core.control.toml_places import Path, TomlPlaces

MAX_LENGTH = 4_096
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class InvalidToml(InvalidText):
    """A text is not what its schema wants."""


@dataclass(frozen=True, slots=True)
class TomlKey:
    """A key that may be written, and what it may be given."""

    kind: ValueKind
    default: Any = None
    is_required: bool = False
    words: tuple[str, ...] = ()
    """The only texts that are allowed, also in a list; of a number: allowed in its place."""
    at_least: float | None = None
    at_most: float | None = None
    """Bounds of a number, of the characters of a text, of the items of a list."""
    is_whole: bool = False
    """Whether a number has to be a whole one."""


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table that may be written, and what may stand in it."""

    entries: Mapping[str, "TomlKey | TomlTable"]
    is_required: bool = False
    is_list: bool = False
    """Whether it is written as [[name]], any number of times."""
    at_most: int = 20


def read_toml(text: str, schema: TomlTable, max_length: int = MAX_LENGTH) -> "TomlDocument":
    """Read a text. Ask `check` of what is returned before it is used."""
    if len(text) > max_length:
        message = f"this is longer than {max_length:,} characters"
        return _refuse_text(PlacedProblem(1, 1, message), schema)
    text = text.replace("\r\n", "\n")
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return _refuse_text(_explain_syntax(error, text), schema)
    document = TomlDocument(text, [])
    document.values = _Checker(document).take_table((), found, schema)
    return document


def _refuse_text(problem: PlacedProblem, schema: TomlTable) -> "TomlDocument":
    """Return a document of defaults, so that a reader can go on to its `check`."""
    document = TomlDocument(None, [problem])
    document.values = _Checker(document).take_table((), {}, schema)
    return document


def _explain_syntax(error: Exception, text: str) -> PlacedProblem:
    if isinstance(error, RecursionError):
        return PlacedProblem(1, 1, "this is nested too deeply")
    found = _PLACE.search(str(error))
    words = str(error)[: found.start()] if found else str(error)
    if found and found[1]:
        line, column = int(found[1]), int(found[2])
    else:
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    return PlacedProblem(line, column, f"this is not TOML ({words[:1].lower()}{words[1:]})")


class TomlDocument:
    """A text that was read: what it says by its schema, and what is wrong with it so far."""

    def __init__(self, text: str | None, problems: list[PlacedProblem]) -> None:
        self.values: dict[str, Any] = {}
        self.problems = problems
        self._text = text
        """None if it could not be read: then there is nothing else to tell of it."""

    @cached_property
    def _places(self) -> TomlPlaces:
        """Places are looked for only when there is a problem: most texts have none."""
        try:
            return TomlPlaces(self._text or "")
        except RecursionError:
            return TomlPlaces("")

    def get(self, path: Path) -> Any:
        """Return a value by its path, or None if there is none."""
        value: Any = self.values
        for name in path:
            try:
                value = value[name]
            except (LookupError, TypeError):
                return None
        return value

    def check(self) -> None:
        """Raise InvalidToml with all problems there are."""
        if self.problems:
            raise InvalidToml(self.problems)

    def parse_expression(
        self, path: Path, language: Language, wanted: ValueKind = ANY
    ) -> Expression | None:
        """Return the expression that a text holds, or None if there is none or it was refused."""
        text = self.get(path)
        if not isinstance(text, str):
            return None
        try:
            return parse_expression(text, language, wanted)
        except InvalidExpression as error:
            for problem in error.problems:
                self.refuse_in_text(path, problem)
            return None

    def refuse(self, path: Path, message: str) -> None:
        """Note a problem with a value, or with the table it is missing from."""
        self._note(self._find_offset(path), message)

    def refuse_name(self, path: Path, message: str) -> None:
        """Note a problem with the name of a key or of a table."""
        self._note(self._places.names.get(path, 0), message)

    def refuse_in_text(self, path: Path, problem: PlacedProblem) -> None:
        """Note a problem inside a text: its line and column are those of the text's characters."""
        offsets = self._places.characters.get(path, [])
        lines = str(self.get(path)).split("\n")[: problem.line - 1]
        index = sum(len(line) + 1 for line in lines) + problem.column - 1
        place = offsets[min(index, len(offsets) - 1)] if offsets else self._find_offset(path)
        self._note(place, problem.message)

    def _find_offset(self, path: Path) -> int:
        while path:
            offset = self._places.values.get(path, self._places.names.get(path))
            if offset is not None:
                return offset
            path = path[:-1]
        return 0

    def _note(self, offset: int, message: str) -> None:
        if self._text is not None:
            self.problems.append(PlacedProblem(*self._places.locate(offset), message))


class _Checker:
    """Takes from a text what its schema allows, and notes the rest as problems."""

    def __init__(self, document: TomlDocument) -> None:
        self._document = document

    def take_table(self, path: Path, found: Mapping[str, Any], table: TomlTable) -> dict[str, Any]:
        for name in found:
            if name not in table.entries:
                self._refuse_unknown((*path, name), found[name], table)
        return {
            name: self._take_entry((*path, name), found.get(name), entry)
            for name, entry in table.entries.items()
        }

    def _refuse_unknown(self, path: Path, value: Any, table: TomlTable) -> None:
        name = str(path[-1])
        what = "table" if isinstance(value, dict) else "key"
        where = f" in {_name_table(path[:-1])}" if len(path) > 1 else ""
        near = suggest_name(name, table.entries)
        self._document.refuse_name(path, f"there is no {what} {name[:80]!r}{where}{near}")

    def _take_entry(self, path: Path, value: Any, entry: TomlKey | TomlTable) -> Any:
        if value is None and entry.is_required:
            self._refuse_missing(path, entry)
        if isinstance(entry, TomlKey):
            return self._take_value(path, value, entry)
        if entry.is_list:
            return self._take_tables(path, value, entry)
        if value is not None and not isinstance(value, dict):
            self._document.refuse_name(path, f"this is written as a table: [{path[-1]}]")
            value = None
        return self.take_table(path, value or {}, entry)

    def _refuse_missing(self, path: Path, entry: TomlKey | TomlTable) -> None:
        if isinstance(entry, TomlTable):
            as_written = (*path, 0) if entry.is_list else path
            self._document.refuse(path[:-1], f"the table {_name_table(as_written)} is missing")
        else:
            where = f" in {_name_table(path[:-1])}" if len(path) > 1 else ""
            self._document.refuse(path[:-1], f"the key {path[-1]!r} is missing{where}")

    def _take_tables(self, path: Path, value: Any, table: TomlTable) -> list[dict[str, Any]]:
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._document.refuse_name(path, f"this is written as a list of tables: [[{path[-1]}]]")
            return []
        if len(value) > table.at_most:
            self._document.refuse((*path, table.at_most), f"more than {table.at_most} of these")
        return [self.take_table((*path, at), item, table) for at, item in enumerate(value)]

    def _take_value(self, path: Path, value: Any, key: TomlKey) -> Any:
        if value is None:
            return key.default
        if key.kind == NUMBER and value in key.words:
            return value
        is_right = self._check_kind(path, value, key.kind) and self._check_bounds(path, value, key)
        return value if is_right and self._check_words(path, value, key) else key.default

    def _check_kind(self, path: Path, value: Any, wanted: ValueKind) -> bool:
        if isinstance(wanted, ListKind) and isinstance(value, list):
            checks = [
                self._check_kind((*path, at), item, wanted.item) for at, item in enumerate(value)
            ]
            return all(checks)
        if isinstance(wanted, MapKind) and isinstance(value, dict):
            checks = [
                self._check_kind((*path, at), item, wanted.value) for at, item in value.items()
            ]
            return all(checks)
        kind = kind_of(value)
        if isinstance(value, float) and not math.isfinite(value):
            self._document.refuse(path, "this is not a number that can be used")
        elif kind == ANY:
            self._document.refuse(path, "a date or time cannot be used here: write it as a text")
        elif not fits(kind, wanted):
            self._document.refuse(path, f"expected {wanted.name}, not {kind.name}")
        else:
            return True
        return False

    def _check_bounds(self, path: Path, value: Any, key: TomlKey) -> bool:
        is_number = key.kind == NUMBER
        if is_number and key.is_whole and not isinstance(value, int):
            self._document.refuse(path, "expected a whole number")
            return False
        if not is_number and not isinstance(value, str | list | dict):
            return True
        size = value if is_number else len(value)
        unit = "" if is_number else " characters" if isinstance(value, str) else " items"
        if key.at_least is not None and size < key.at_least:
            self._document.refuse(path, f"expected at least {key.at_least:,}{unit}")
            return False
        if key.at_most is not None and size > key.at_most:
            self._document.refuse(path, f"at most {key.at_most:,}{unit} can be used here")
            return False
        return True

    def _check_words(self, path: Path, value: Any, key: TomlKey) -> bool:
        if not key.words or key.kind not in (TEXT, ListKind(TEXT)):
            return True
        written = enumerate(value) if isinstance(value, list) else [(None, value)]
        wrong = [(at, word) for at, word in written if word not in key.words]
        for at, word in wrong:
            place = path if at is None else (*path, at)
            near = suggest_name(word, key.words)
            text = f"{word[:80]!r} is not one of {', '.join(key.words)}{near}"
            self._document.refuse(place, text)
        return not wrong


def _name_table(path: Path) -> str:
    """Return a table as it is written: "[events]", "[[action]]"."""
    name = ".".join(part for part in path if isinstance(part, str))
    return f"[[{name}]]" if path and isinstance(path[-1], int) else f"[{name}]"
