"""The words that a behaviour may name: actions, conditions and decorators, from any package.

    @action("notes.count")
    def count_notes(run: object, folder: str = "") -> bool: ...

    @condition("is-late?")
    def is_late(run: object) -> bool: ...

    @decorator("retry")
    @dataclass
    class Retry:
        times: int = 3
        ...

What a word takes is known from its annotations, so that a behaviour is checked against them before
it is ever used. docs/behaviours.md says what each owes.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

from agents.core.control.condition import Condition
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind, ValueKind
from agents.core.registry import RegistrationError, Registry

WordType = Literal["action", "condition", "decorator"]
T = TypeVar("T", bound=Callable[..., Any])
CONDITION = ValueKind("a condition")
"""What a text becomes where a word takes a condition."""
_KINDS: Mapping[Any, ValueKind] = {
    str: TEXT,
    int: NUMBER,
    float: NUMBER,
    bool: TRUTH,
    list: ListKind(ANY),
    dict: MapKind(ANY),
    Any: ANY,
    Condition: CONDITION,
}


@dataclass(frozen=True, slots=True)
class WordParameter:
    """What a word takes under one name."""

    kind: ValueKind
    is_required: bool


@dataclass(frozen=True, slots=True)
class BehaviourWord:
    """A registered function, or of decorators the class; and what it takes besides the run."""

    type: WordType
    name: str
    use: Callable[..., Any]
    parameters: Mapping[str, WordParameter]
    about: str


class WordRegistry(Registry[BehaviourWord]):
    """All words. An action and a condition may have the same name."""

    def __init__(self) -> None:
        super().__init__("behaviour word")

    def action(self, name: str) -> Callable[[T], T]:
        """Register a function of the run and `:args`; it fails by returning False."""
        return self._register_as("action", name)

    def condition(self, name: str) -> Callable[[T], T]:
        """Register a function of the run that says whether something holds."""
        return self._register_as("condition", name)

    def decorator(self, name: str) -> Callable[[T], T]:
        """Register a class with `enter(run)` and `leave(run, succeeded)`, built for each visit."""
        return self._register_as("decorator", name)

    def find(self, type_: WordType, name: str) -> BehaviourWord | None:
        key = f"{type_} {name}"
        return self.get(key) if key in self else None

    def list_names(self, type_: WordType) -> list[str]:
        return [word.name for _, word in self if word.type == type_]

    def _register_as(self, type_: WordType, name: str) -> Callable[[T], T]:
        def register(use: T) -> T:
            about = (inspect.getdoc(use) or "").partition("\n")[0]
            word = BehaviourWord(type_, name, use, _read_parameters(type_, name, use), about)
            self.register(f"{type_} {name}", word, origin=use)
            return use

        return register


def _read_parameters(type_: WordType, name: str, use: Any) -> dict[str, WordParameter]:
    """Return what a word takes, by its annotations; the first parameter of a function is the run.

    A class is built with its fields, and is handed the run later.
    """
    parameters = list(inspect.signature(use).parameters.values())
    if type_ != "decorator":
        parameters = parameters[1:]
    try:
        hints = get_type_hints(use.__init__ if inspect.isclass(use) else use)
    except (NameError, TypeError):
        hints = {}
    found = {}
    for one in parameters:
        hint = hints.get(one.name)
        kind = _KINDS.get(get_origin(hint) or hint)
        if kind is None or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            known = "str, int, float, bool, list, dict, Condition or Any"
            raise RegistrationError(
                f"the {type_} {name!r} takes {one.name!r}, of no known kind: annotate it as {known}"
            )
        found[one.name] = WordParameter(kind, one.default is one.empty)
    return found


WORDS = WordRegistry()
action = WORDS.action
condition = WORDS.condition
decorator = WORDS.decorator
