"""Subscribers: what is said of events, to whom, when in a run and in which words. Written as TOML.

Everything in a file is checked when it is read: names of events and fields, conditions, sentences.
"""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from agents.core.chunks import EventSeverity, SystemType
from agents.core.control.events import EVENT_TYPES, OWN_PREFIX, matches_event
from agents.core.control.expression import Expression
from agents.core.control.facts import RESULT
from agents.core.control.kinds import (
    ANY,
    NUMBER,
    TEXT,
    TRUTH,
    ListKind,
    MapKind,
    RecordKind,
    ValueKind,
    join_kinds,
)
from agents.core.control.language import Language
from agents.core.control.problems import suggest_name
from agents.core.control.template import InvalidTemplate, Template, parse_template
from agents.core.control.toml import MAX_LENGTH, TomlDocument, TomlKey, TomlTable, read_toml
from agents.core.control.toml_places import Path

InjectionPoint = Literal["immediate", "turn_start", "after_tool", "turn_end"]
Priority = Literal["critical", "high", "normal", "low"]
SEVERITIES: tuple[EventSeverity, ...] = get_args(EventSeverity)
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
_UNSPOKEN = {
    "session.end": "nothing can be shown after session.end",
    "notification.dropped": "a dropped notification cannot cause another one",
}
"""Events that no subscriber can listen to, and why."""
_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_WORDS = {
    "message": TomlKey(TEXT, default="", at_most=300),
    "hint": TomlKey(TEXT, default="", at_most=300),
}
SCHEMA = TomlTable(
    {
        "subscriber": TomlTable(
            {
                "id": TomlKey(TEXT, default="", is_required=True, at_most=60),
                "name": TomlKey(TEXT, default="", is_required=True, at_least=1, at_most=60),
                "description": TomlKey(TEXT, default="", at_most=300),
                "core": TomlKey(TRUTH, default=False),
            },
            is_required=True,
        ),
        "events": TomlTable(
            {
                "types": TomlKey(
                    ListKind(TEXT), default=[], is_required=True, at_least=1, at_most=20
                ),
                "min_severity": TomlKey(TEXT, default="debug", words=SEVERITIES),
                "when": TomlKey(TEXT),
            },
            is_required=True,
        ),
        "batching": TomlTable(
            {
                "window": TomlKey(NUMBER, default=0, at_least=0, at_most=600),
                "most": TomlKey(NUMBER, default=10, at_least=1, at_most=100, is_whole=True),
                "key": TomlKey(TEXT, default="", at_most=200),
                "again_after": TomlKey(NUMBER, default=0, words=("run",), at_least=0),
            }
        ),
        "output": TomlTable(
            {
                "at": TomlKey(TEXT, default="immediate", words=get_args(InjectionPoint)),
                "priority": TomlKey(TEXT, default="normal", words=PRIORITIES),
                "to": TomlKey(
                    ListKind(TEXT), default=["user", "model"], words=("user", "model"), at_least=1
                ),
                "system_type": TomlKey(TEXT, default="notification", words=get_args(SystemType)),
                "columns": TomlKey(ListKind(TEXT), default=[], at_most=6),
                **_WORDS,
            },
            is_required=True,
        ),
        "variant": TomlTable(
            {"name": TomlKey(TEXT, default="", is_required=True, at_most=60), **_WORDS},
            is_list=True,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Wording:
    """How something is said: `message` to people, `hint` to the model; either may be missing."""

    message: Template | None
    hint: Template | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subscriber:
    """What is said of some events. Frozen: all runs share it. Two are the same if they are one
    object: so what is found out about subscribers can be kept by them."""

    id: str
    name: str
    description: str = ""
    core: bool = False
    """Whether nobody can switch it off."""
    types: frozenset[str]
    """The names of its events; of those that rules emit, also patterns."""
    min_severity: EventSeverity = "debug"
    when: Expression | None = None
    window: float = 0
    """Seconds for which events are gathered."""
    most: int = 10
    """Events that fill a batch, so that it does not wait for the rest of its window."""
    key: tuple[str, ...] = ()
    """What two events have in common that count as the same: "type", "payload.tool"."""
    again_after: float = 0
    """Seconds after which the same is said again; infinite: once in a run."""
    at: InjectionPoint = "immediate"
    priority: Priority = "normal"
    system_type: SystemType = "notification"
    words: Wording
    columns: tuple[str, ...] = ()
    """The fields of which a table is made, where there are several events."""
    variants: Mapping[str, Wording] = field(default_factory=dict)
    """Other words for special cases; which of them is right, the program decides."""

    @property
    def is_said_by_loop(self) -> bool:
        """Whether its notice is what records the event, so that it cannot wait for that."""
        return self.system_type != "notification"


def read_subscriber(
    text: str, *, may_be_core: bool = False, fields: Mapping[str, ValueKind] | None = None
) -> Subscriber:
    """Read a subscriber; `fields` are those of its events if they are not the registered ones.

    Raises InvalidToml with every problem and its place.
    """
    limit = 2 * MAX_LENGTH if may_be_core else MAX_LENGTH
    reader = _Reader(read_toml(text, SCHEMA, limit), may_be_core)
    subscriber = reader.read(fields)
    reader.document.check()
    return subscriber


class _Reader:
    """One text on its way to a subscriber."""

    def __init__(self, document: TomlDocument, may_be_core: bool) -> None:
        self.document = document
        self._may_be_core = may_be_core

    def read(self, fields: Mapping[str, ValueKind] | None) -> Subscriber:
        values = self.document.values
        about, batching, output = values["subscriber"], values["batching"], values["output"]
        types = self._read_types()
        common, known = _join_fields(types)
        self._check_reserved()
        again = batching["again_after"]
        return Subscriber(
            **self._read_about(about),
            types=types,
            min_severity=values["events"]["min_severity"],
            when=self.document.parse_expression(("events", "when"), _build_language(known), TRUTH),
            window=0 if output["priority"] == "critical" else batching["window"],
            most=batching["most"],
            key=self._read_key(known),
            again_after=math.inf if again == "run" else again,
            at=output["at"],
            priority=output["priority"],
            system_type=output["system_type"],
            words=self._read_words(("output",), fields or common),
            columns=self._read_columns(fields or known),
            variants={
                one["name"]: self._read_words(("variant", at), fields or common)
                for at, one in enumerate(values["variant"])
            },
        )

    def _read_about(self, about: Mapping[str, Any]) -> dict[str, Any]:
        if about["id"] and not _ID.fullmatch(about["id"]):
            self.document.refuse(
                ("subscriber", "id"),
                "an id has lowercase letters, digits and hyphens: calls-that-fail",
            )
        return dict(about)

    def _read_types(self) -> frozenset[str]:
        """Return the names of the events that are meant, of the wanted severity."""
        events, found = self.document.values["events"], set[str]()
        least = SEVERITIES.index(events["min_severity"])
        for at, pattern in enumerate(events["types"]):
            names = [name for name in EVENT_TYPES if matches_event(pattern, name)]
            if pattern.startswith(OWN_PREFIX):
                names = [pattern]
            if not names:
                near = suggest_name(pattern, EVENT_TYPES)
                self.document.refuse(
                    ("events", "types", at), f"there is no event {pattern!r}{near}"
                )
            elif all(name in _UNSPOKEN for name in names):
                self.document.refuse(("events", "types", at), _UNSPOKEN[names[0]])
            found.update(name for name in names if name not in _UNSPOKEN)
        grave = {
            name
            for name in found
            if name not in EVENT_TYPES or SEVERITIES.index(EVENT_TYPES[name].severity) >= least
        }
        if found and not grave:
            text = f"none of these events has the severity {events['min_severity']} or above"
            self.document.refuse(("events", "min_severity"), text)
        return frozenset(grave)

    def _read_key(self, fields: Mapping[str, ValueKind] | None) -> tuple[str, ...]:
        written = self.document.values["batching"]["key"]
        parts = tuple(written.split(":")) if written else ()
        for part in parts:
            name = part.removeprefix("payload.")
            if part != "type" and (name == part or (fields is not None and name not in fields)):
                near = suggest_name(part, ["type", *(f"payload.{name}" for name in fields or ())])
                text = f"a key is made of type and payload.field; there is no {part!r}{near}"
                self.document.refuse(("batching", "key"), text)
        return parts

    def _read_columns(self, fields: Mapping[str, ValueKind] | None) -> tuple[str, ...]:
        columns = self.document.values["output"]["columns"]
        for at, name in enumerate(columns):
            if fields is not None and name not in fields:
                text = f"there is no field {name!r}{suggest_name(name, fields)}"
                self.document.refuse(("output", "columns", at), text)
        return tuple(columns)

    def _read_words(self, path: Path, fields: Mapping[str, ValueKind] | None) -> Wording:
        """Return the words. What is said to people is said to the model too, if nothing else is."""
        written, output = self.document.get(path), self.document.values["output"]
        if not written["message"]:
            self.document.refuse(path, "the key 'message' is missing")
        message = self._read_template((*path, "message"), fields)
        hint = self._read_template((*path, "hint"), fields) or message
        return Wording(
            message if "user" in output["to"] else None,
            hint if "model" in output["to"] else None,
        )

    def _read_template(self, path: Path, fields: Mapping[str, ValueKind] | None) -> Template | None:
        text = self.document.get(path)
        try:
            return parse_template(text, fields) if text else None
        except InvalidTemplate as error:
            for problem in error.problems:
                self.document.refuse_in_text(path, problem)
            return None

    def _check_reserved(self) -> None:
        """Refuse what only the shipped core may do: be fixed, and pass for a limit's notice."""
        values = self.document.values
        if self._may_be_core:
            return
        if values["subscriber"]["core"]:
            self.document.refuse(("subscriber", "core"), "only shipped subscribers can be core")
        if values["output"]["system_type"] != "notification":
            self.document.refuse(("output", "system_type"), 'only "notification" can be used here')
        if values["variant"]:
            self.document.refuse(("variant", 0), "only shipped subscribers have variants")


_Fields = dict[str, ValueKind] | None
"""None: not known before, because rules may emit what they like, or a name was refused."""


def _join_fields(types: Collection[str]) -> tuple[_Fields, _Fields]:
    """Return the fields that all of these events have, and those that any of them has."""
    if not types or any(name not in EVENT_TYPES for name in types):
        return None, None
    kinds: dict[str, list[ValueKind]] = {}
    for name in types:
        for key, about in EVENT_TYPES[name].fields.items():
            kinds.setdefault(key, []).append(about.kind)
    known = {key: join_kinds(found) for key, found in kinds.items()}
    return {key: known[key] for key, found in kinds.items() if len(found) == len(types)}, known


def _build_language(fields: _Fields) -> Language:
    payload = MapKind(ANY) if fields is None else RecordKind("event.payload", fields)
    event = {"type": TEXT, "source": TEXT, "severity": TEXT, "payload": payload}
    return Language(names={"event": RecordKind("event", event), "result": RESULT})
