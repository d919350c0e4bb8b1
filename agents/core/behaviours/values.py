"""The values in a behaviour's text: literals, reads of the blackboard, expressions and templates.

Each is checked against the names that are known where it stands, and becomes a closure.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agents.core.behaviours.behaviour import BoundValue, ValueScope
from agents.core.behaviours.sexp import MAX_PROBLEMS, SourceForm
from agents.core.config import LIMITS, AgentConfig
from agents.core.control import InvalidExpression, Language, parse_expression
from agents.core.control.condition import Condition, parse_condition
from agents.core.control.facts import HISTORY, PROJECT, TURN, USER
from agents.core.control.kinds import (
    ANY,
    NUMBER,
    TEXT,
    ListKind,
    MapKind,
    ValueKind,
    fits,
    join_kinds,
    kind_of,
)
from agents.core.control.problems import PlacedProblem, suggest_name
from agents.core.control.template import InvalidTemplate, Template, parse_template

READS = ("blackboard", "config", "lines", "expr")
"""The words that begin a value in round brackets; any other begins a node."""
LITERALS: Mapping[str, Any] = {"true": True, "false": False, "nil": None}
FACTS: Mapping[str, ValueKind] = {
    "question": TEXT,
    "turn": TURN,
    "history": HISTORY,
    "user": USER,
    "project": PROJECT,
}
"""What can be read of every run, and never written."""
RUN_FACTS = frozenset(FACTS) - {"question"}
"""All but what was asked."""
_NO_SCOPE = ValueScope({}, AgentConfig())
NO_VALUE = BoundValue(ANY, lambda _: None)
"""Stands for one that was refused, so that all problems are found."""


@dataclass(frozen=True, slots=True)
class ValueReader:
    """Reads values where certain keys are known; problems are gathered by whoever reads a text."""

    problems: list[PlacedProblem]
    keys: Mapping[str, ValueKind]
    """Of the blackboard, and of the items of lists around."""
    names_read: set[str] = field(default_factory=set)
    """What the expressions of the text look at."""
    _names: dict[str, ValueKind] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names.update({**FACTS, **self.keys})

    def with_item(self, name: str, kind: ValueKind) -> "ValueReader":
        """Return a reader for what stands inside a loop over a list."""
        return replace(self, keys={**self.keys, name: kind}, _names={})

    def refuse(self, form: SourceForm, message: str) -> None:
        self.problems.append(PlacedProblem(*form.place, message))

    def read(self, form: SourceForm, wanted: ValueKind = ANY) -> BoundValue:
        """Read a value of the wanted kind."""
        value = self._read_value(form)
        if not fits(value.kind, wanted):
            self.refuse(form, f"expected {wanted.name}, not {value.kind.name}")
            return NO_VALUE
        return value

    def _read_value(self, form: SourceForm) -> BoundValue:
        match form.type:
            case "text":
                return self._read_text(form)
            case "number":
                return _bind_literal(form.number)
            case "word":
                return self._read_word(form)
            case "keyword":
                return _bind_literal(form.text)
            case "[":
                return self._read_vector(form)
            case "{":
                return self._read_map(form)
        readers: Mapping[str, Callable[[SourceForm], BoundValue]] = {
            "blackboard": self._read_key,
            "config": self._read_limit,
            "lines": self._read_lines,
            "expr": self._read_expression,
        }
        if form.head not in readers:
            near = suggest_name(form.head, READS)
            self.refuse(form, f"expected a value, not a node{near}")
            return NO_VALUE
        if len(form.items) != 2:
            self.refuse(form, f"{form.head} takes one value")
            return NO_VALUE
        return readers[form.head](form.items[1])

    def _read_word(self, form: SourceForm) -> BoundValue:
        if form.source in LITERALS:
            return _bind_literal(LITERALS[form.source])
        near = suggest_name(form.source, LITERALS)
        self.refuse(form, f"{form.source!r} is not a value: put text in quotes{near}")
        return NO_VALUE

    def _read_text(self, form: SourceForm) -> BoundValue:
        """Read a text, whose fields are filled in when it is used."""
        text = form.text
        if "{" not in text and "}" not in text:
            return _bind_literal(text)
        if (template := self.read_template(form)) is None:
            return NO_VALUE
        return BoundValue(TEXT, lambda scope: template.render(scope.names, str))

    def _read_vector(self, form: SourceForm) -> BoundValue:
        values = [self.read(item) for item in form.items]
        kind = ListKind(join_kinds(value.kind for value in values) if values else ANY)
        return BoundValue(
            kind,
            lambda scope: [value.get(scope) for value in values],
            all(value.is_literal for value in values),
        )

    def _read_map(self, form: SourceForm) -> BoundValue:
        values = {name: self.read(value) for name, value in self.read_pairs(form).items()}
        kind = MapKind(join_kinds(value.kind for value in values.values()) if values else ANY)
        return BoundValue(
            kind,
            lambda scope: {name: value.get(scope) for name, value in values.items()},
            all(value.is_literal for value in values.values()),
        )

    def read_pairs(self, form: SourceForm) -> dict[str, SourceForm]:
        """Return what stands in a map, by the names of its keywords."""
        if form.type != "{":
            self.refuse(form, "expected a map: {:key value}")
            return {}
        names, values = form.items[::2], form.items[1::2]
        found: dict[str, SourceForm] = {}
        for name, value in zip(names, values, strict=False):
            if name.type != "keyword":
                self.refuse(name, "expected a keyword, such as :key")
            elif name.text in found:
                self.refuse(name, f":{name.text} is given twice")
            else:
                found[name.text] = value
        if len(names) > len(values):
            self.refuse(names[-1], "this has no value")
        return found

    # -- reads ------------------------------------------------------------------------------------

    def find_key(self, form: SourceForm) -> str:
        """Return the name of a known key, or nothing."""
        if form.type != "keyword":
            self.refuse(form, "expected a key of the blackboard, such as :plan")
            return ""
        name = form.text
        if name in self.keys:
            return name
        near = suggest_keyword(name, self.keys)
        self.refuse(form, f"there is no blackboard key :{name}{near}")
        return ""

    def _read_key(self, form: SourceForm) -> BoundValue:
        name = self.find_key(form)
        if not name:
            return NO_VALUE
        return BoundValue(self.keys[name], lambda scope: scope.names.get(name), key=name)

    def _read_limit(self, form: SourceForm) -> BoundValue:
        name = form.text if form.type == "keyword" else ""
        if name not in LIMITS:
            self.refuse(
                form, f"there is no limit {form.source[:80]}{suggest_keyword(name, LIMITS)}"
            )
            return NO_VALUE
        return BoundValue(NUMBER, lambda scope: getattr(scope.config, name))

    def _read_lines(self, form: SourceForm) -> BoundValue:
        value = self.read(form, TEXT)
        return BoundValue(ListKind(TEXT), lambda scope: _split_lines(value.get(scope)))

    def _read_expression(self, form: SourceForm) -> BoundValue:
        if form.type != "text":
            self.refuse(form, "put an expression in quotes")
            return NO_VALUE
        try:
            expression = parse_expression(form.text, self._build_language())
        except InvalidExpression as error:
            self._refuse_in_text(form, error.problems)
            return NO_VALUE
        self.names_read.update(_list_names(form.text))
        return BoundValue(expression.kind, lambda scope: expression.evaluate(scope.names))

    # -- texts that are read ----------------------------------------------------------------------

    def read_condition(self, form: SourceForm) -> Condition | None:
        if form.type != "text":
            self.refuse(form, "put an expression in quotes")
            return None
        try:
            condition = parse_condition(form.text, self._build_language())
        except InvalidExpression as error:
            self._refuse_in_text(form, error.problems)
            return None
        self.names_read.update(_list_names(form.text))
        return condition

    def read_template(self, form: SourceForm) -> Template | None:
        if form.type != "text":
            self.refuse(form, "expected a text in quotes")
            return None
        try:
            return parse_template(form.text, {"question": TEXT, **self.keys})
        except InvalidTemplate as error:
            self._refuse_in_text(form, error.problems)
            return None

    def _build_language(self) -> Language:
        return Language(names=self._names)

    def _refuse_in_text(self, form: SourceForm, problems: tuple[PlacedProblem, ...]) -> None:
        for problem in problems[:MAX_PROBLEMS]:  # a place is looked for from the beginning on
            place = form.find_place(problem.line, problem.column)
            self.problems.append(PlacedProblem(*place, problem.message))


def _bind_literal(value: Any) -> BoundValue:
    return BoundValue(kind_of(value), lambda _: value, is_literal=True)


def _split_lines(text: Any) -> list[str]:
    """Return the lines that say something, without the marks of a list."""
    lines = (line.strip().lstrip("-*•").strip() for line in str(text or "").splitlines())
    return [line for line in lines if line]


def get_literal(value: BoundValue) -> Any:
    """Return what a literal stands for."""
    return value.get(_NO_SCOPE)


def suggest_keyword(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean :size?" for a known keyword like this one, or nothing."""
    return suggest_name(f":{name}", [f":{one}" for one in known]).replace("'", "")


def _list_names(expression: str) -> set[str]:
    """Return the names in an expression that was read, as Python spells them."""
    tree = ast.parse(expression.strip(), mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
