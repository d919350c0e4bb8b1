"""Rules from TOML: every unknown name, kind and key is refused with its place."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from agents.core.control import InvalidExpression
from agents.core.control.condition import Condition, parse_condition
from agents.core.control.events import OWN_PREFIX
from agents.core.control.facts import EVENT_PARTS
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind
from agents.core.control.language import Language
from agents.core.control.problems import suggest_name
from agents.core.control.template import InvalidTemplate, Template, parse_template
from agents.core.control.toml import TomlDocument, TomlKey, TomlTable, read_toml
from agents.core.control.toml_places import Path
from agents.core.rules.content import CONTENT_NAMES, ExpressionContent
from agents.core.rules.rule import (
    AskAgain,
    EmitEvent,
    Hold,
    Log,
    Notify,
    Rule,
    RuleAction,
    SetState,
    StopRun,
    Withhold,
    encode_value,
)
from agents.core.rules.vocabulary import (
    HEARD_EVENTS,
    HOOKS,
    build_language,
    collect_fields,
    is_own_event,
    match_events,
)

MAX_RULE_LENGTH = 4_096
MAX_ACTIONS = 10
MAX_MESSAGE = 500
RULE_KEYS: Mapping[str, TomlKey] = {
    "id": TomlKey(TEXT, is_required=True, at_most=60),
    "name": TomlKey(TEXT, at_most=100),
    "description": TomlKey(TEXT, default="", at_most=500),
    "trigger": TomlKey(TEXT, words=tuple(HOOKS)),
    "on": TomlKey(ListKind(TEXT), at_least=1, at_most=20),
    "priority": TomlKey(NUMBER, default=100, at_least=1, at_most=1_000, is_whole=True),
    "once": TomlKey(TRUTH, default=False),
    "mode": TomlKey(TEXT, default="on", words=("on", "off", "shadow")),
}
ACTION_KEYS: Mapping[str, Mapping[str, bool]] = {
    "notify": {"message": True, "to": False, "keep": False},
    "log": {"message": True},
    "set_state": {"key": True, "value": False, "expression": False},
    "emit_event": {"event": True, "payload": False},
    "stop": {"message": True},
    "withhold": {"tool": True},
    "ask_again": {"message": True},
    "hold": {"message": True},
}
"""The keys of each action, and whether it must have them."""
_SCHEMA = TomlTable(
    {
        "rule": TomlTable(RULE_KEYS, is_required=True),
        "condition": TomlTable({"expression": TomlKey(TEXT)}),
        "action": TomlTable(
            {
                "type": TomlKey(TEXT, is_required=True, words=tuple(ACTION_KEYS)),
                "message": TomlKey(TEXT, at_least=1, at_most=MAX_MESSAGE),
                "to": TomlKey(ListKind(TEXT), words=("user", "model"), at_least=1),
                "keep": TomlKey(TRUTH),
                "key": TomlKey(TEXT, at_least=1, at_most=60),
                "value": TomlKey(ANY),
                "expression": TomlKey(TEXT),
                "event": TomlKey(TEXT, at_most=60),
                "payload": TomlKey(MapKind(ANY), at_most=20),
                "tool": TomlKey(TEXT, at_most=100),
            },
            is_required=True,
            is_list=True,
            at_most=MAX_ACTIONS,
        ),
    }
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_OWN_EVENT = re.compile(r"x(\.[a-z][a-z0-9_]*)+")
_CONTENT = re.compile(rf"\{{({'|'.join(sorted(CONTENT_NAMES))})\b")
"""Fields of sentences that erasure takes."""


def read_rule(text: str, tools: Collection[str] | None = None) -> Rule:
    """Read one rule; `tools` are all there are, if given. Raises InvalidToml with all problems."""
    document = read_toml(text, _SCHEMA, MAX_RULE_LENGTH)
    if not document.values:
        document.check()
    return _RuleReader(document, tools).read()


class _RuleReader:
    def __init__(self, document: TomlDocument, tools: Collection[str] | None) -> None:
        self._document = document
        self._tools = tools
        self._about = document.values["rule"]
        self._events = self._read_events()
        self._language: Language = build_language(self._events)
        self._fields = collect_fields(self._events)
        self._builders: Mapping[str, Callable[[Path, Mapping[str, Any]], RuleAction | None]] = {
            "notify": self._read_notify,
            "log": lambda path, _: self._build(Log, path),
            "set_state": self._read_set_state,
            "emit_event": self._read_emit_event,
            "stop": lambda path, _: self._build(StopRun, path),
            "withhold": self._read_withhold,
            "ask_again": self._read_ask_again,
            "hold": self._read_hold,
        }

    def read(self) -> Rule:
        document, about = self._document, self._about
        if about["id"] and not _ID.fullmatch(about["id"]):
            document.refuse(
                ("rule", "id"), "an id is written in lowercase letters: same-tool-fails"
            )
        condition = self._read_condition(("condition", "expression"))
        actions = [
            self._read_action(("action", at), action)
            for at, action in enumerate(document.values["action"])
        ]
        document.check()
        contents = self._list_contents()
        return Rule(
            id=about["id"],
            name=about["name"] or about["id"],
            description=about["description"],
            trigger=about["trigger"] or "",
            events=self._events,
            priority=about["priority"],
            once=about["once"],
            mode=about["mode"],
            condition=condition,
            actions=tuple(action for action in actions if action is not None),
            reads_content=self._tells_content() or any(one.reads_content() for one in contents),
            reads_notes=any("note_count" in one.names for one in contents),
            parts=contents[0].list_parts() if condition is not None else EVENT_PARTS,
        )

    # -- what it listens to -----------------------------------------------------------------------

    def _read_events(self) -> tuple[str, ...]:
        document, about = self._document, self._about
        if (about["trigger"] is None) == (about["on"] is None) and not document.problems:
            document.refuse(("rule",), "a rule has a trigger, or the events that it is on")
        if about["trigger"]:
            return HOOKS[about["trigger"]]
        patterns = about["on"] or ()
        return tuple(pattern for at, pattern in enumerate(patterns) if self._is_heard(at, pattern))

    def _is_heard(self, at: int, pattern: str) -> bool:
        if match_events(pattern) or is_own_event(pattern):
            return True
        groups = {f"{name.rpartition('.')[0]}.*" for name in HEARD_EVENTS}
        near = suggest_name(pattern, [*HEARD_EVENTS, *sorted(groups)])
        text = f"there is no event {pattern[:80]!r}{near}"
        if pattern.startswith("rule."):
            text = "rules cannot listen to rules: let one emit an event of its own"
        self._document.refuse(("rule", "on", at), text)
        return False

    def _read_condition(self, path: Path) -> Condition | None:
        text = self._document.get(path)
        if text is None:
            return None
        try:
            return parse_condition(text, self._language)
        except InvalidExpression as error:
            for problem in error.problems:
                self._document.refuse_in_text(path, problem)
            return None

    # -- what it does -----------------------------------------------------------------------------

    def _read_action(self, path: Path, values: Mapping[str, Any]) -> RuleAction | None:
        kind = values["type"]
        if kind is None:
            return None
        keys = ACTION_KEYS[kind]
        written = [name for name, value in values.items() if value is not None and name != "type"]
        for name in written:
            if name not in keys:
                near = f": it has {', '.join(keys)}"
                self._document.refuse_name((*path, name), f"{kind} has no key {name!r}{near}")
        missing = [name for name, is_required in keys.items() if is_required]
        for name in missing:
            if values[name] is None:
                self._document.refuse(path, f"{kind} needs the key {name!r}")
        return self._builders[kind](path, values)

    def _build(
        self, action: Callable[[Template], RuleAction], path: Path, **more: Any
    ) -> RuleAction | None:
        message = self._read_template((*path, "message"))
        return action(message, **more) if message else None

    def _read_template(self, path: Path) -> Template | None:
        text = self._document.get(path)
        if text is None:
            return None
        try:
            return parse_template(text, self._fields)
        except InvalidTemplate as error:
            for problem in error.problems:
                self._document.refuse_in_text(path, problem)
            return None

    def _read_notify(self, path: Path, values: Mapping[str, Any]) -> RuleAction | None:
        to = tuple(dict.fromkeys(values["to"] or ("user", "model")))
        return self._build(Notify, path, to=to, keep=bool(values["keep"]))

    def _read_set_state(self, path: Path, values: Mapping[str, Any]) -> RuleAction | None:
        expression = self._document.parse_expression((*path, "expression"), self._language)
        if (values["value"] is None) == (values["expression"] is None):
            self._document.refuse(path, "set_state has a value, or an expression")
        self._check_value((*path, "value"), values["value"])
        return SetState(values["key"] or "", values["value"], expression)

    def _read_emit_event(self, path: Path, values: Mapping[str, Any]) -> RuleAction | None:
        name = values["event"]
        if name is not None and not _OWN_EVENT.fullmatch(name):
            text = f"the names of own events begin with {OWN_PREFIX!r}: x.searched_enough"
            self._document.refuse((*path, "event"), text)
        self._check_value((*path, "payload"), values["payload"])
        return EmitEvent(name or "", values["payload"] or {})

    def _check_value(self, path: Path, value: Any) -> None:
        try:
            encode_value(value)
        except ValueError as error:
            self._document.refuse(path, str(error))

    def _read_withhold(self, path: Path, values: Mapping[str, Any]) -> RuleAction | None:
        tool = values["tool"] or ""
        if self._tools is not None and tool and tool not in self._tools:
            text = f"there is no tool {tool!r}{suggest_name(tool, self._tools)}"
            self._document.refuse((*path, "tool"), text)
        return Withhold(tool)

    def _read_ask_again(self, path: Path, values: Mapping[str, Any]) -> RuleAction | None:
        if self._events != HOOKS["on_turn_end"]:
            text = "ask_again answers an answer: it needs the trigger on_turn_end"
            self._document.refuse((*path, "type"), text)
        return self._build(AskAgain, path)

    def _read_hold(self, path: Path, values: Mapping[str, Any]) -> RuleAction | None:
        if self._events != HOOKS["on_tool_call"]:
            text = "hold lets a call wait: it needs the trigger on_tool_call"
            self._document.refuse((*path, "type"), text)
        return self._build(Hold, path)

    def _list_contents(self) -> list[ExpressionContent]:
        values = self._document.values
        found = [values["condition"], *values["action"]]
        return [ExpressionContent(each["expression"]) for each in found if each["expression"]]

    def _tells_content(self) -> bool:
        """Return whether a sentence has a field that erasure takes."""
        words = [action["message"] or "" for action in self._document.values["action"]]
        return any(map(_CONTENT.search, words))
