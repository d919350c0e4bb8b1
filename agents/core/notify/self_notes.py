"""Notes that a model writes to itself: each is told when its moment has come, later in the run.

A note is a tool call, and the result of the call is its event: the run's chunks tell all there is
to know of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.control.evaluation import Unanswerable
from agents.core.control.event_stream import SELF_NOTE
from agents.core.control.events import AgentEvent
from agents.core.control.expression import Expression, InvalidExpression, parse_expression
from agents.core.control.facts import HISTORY, RESULT_EVENTS, TURN, Facts
from agents.core.control.kinds import TRUTH
from agents.core.control.language import Language
from agents.core.control.problems import PlacedProblem
from agents.core.notify.subscriber import PRIORITIES, InjectionPoint

MAX_NOTES = 5
"""Of one run."""
MAX_TURNS = 50
MAX_TOLD_CHARS = 400
"""Of the notes that are told at once, so that none is cut; the others wait for the next moment."""
LANGUAGE = Language(names={"turn": TURN, "history": HISTORY})
"""What a note's condition may look at."""


@dataclass(frozen=True, slots=True)
class NoteMoment:
    """When a note is to be told: after so many turns, after a tool, or when something holds."""

    turns: int = 0
    tool: str = ""
    condition: Expression | None = None


def parse_moment(text: str) -> NoteMoment:
    """Read when a note is to be told. Raises InvalidExpression."""
    word, _, rest = text.strip().partition(":")
    if word == "next_turn" and not rest:
        return NoteMoment(turns=1)
    if word == "after_turns":
        if rest.isascii() and rest.isdigit() and 1 <= int(rest[:4]) <= MAX_TURNS:
            return NoteMoment(turns=int(rest))
        message = f"after_turns takes a number from 1 to {MAX_TURNS}: after_turns:3"
        raise InvalidExpression([PlacedProblem(1, 1, message)])
    if word == "after_tool" and rest.strip():
        return NoteMoment(tool=rest.strip())
    return NoteMoment(condition=parse_expression(text, LANGUAGE, TRUTH))


@dataclass(slots=True)
class _WaitingNote:
    event: AgentEvent
    moment: NoteMoment
    turn: int
    """The turn in which it was written."""
    has_tool_run: bool = False

    @property
    def rank(self) -> int:
        priority = self.event.payload["priority"]
        return PRIORITIES.index(priority) if priority in PRIORITIES else len(PRIORITIES)


class DeferredNotes:
    """The notes of one run that still wait. Takes in its events, in order."""

    def __init__(self, facts: Facts | None = None) -> None:
        self._facts = facts
        self.waiting: list[_WaitingNote] = []
        """Those that were not told yet."""
        self._count = 0
        self._turn = 0
        self._heard: AgentEvent | None = None

    def hear(self, event: AgentEvent) -> bool:
        """Take in an event; return whether it is a note, which is to be told later."""
        self._heard = event
        if event.name == SELF_NOTE:
            self._add(event)
            return True
        if event.name == "turn.start":
            self._turn = event.payload["number"]
        elif event.name in RESULT_EVENTS and self.waiting:
            for note in self.waiting:
                note.has_tool_run |= note.moment.tool == event.payload["tool"]
        return False

    def release(self, point: InjectionPoint) -> list[AgentEvent]:
        """Return the notes whose moment has come, as many as can be told at once."""
        if not self.waiting:
            return []
        due = [note for note in self.waiting if self._is_due(note, point)]
        told: list[_WaitingNote] = []
        room = MAX_TOLD_CHARS
        for note in sorted(due, key=lambda note: note.rank):
            size = len(note.event.payload["message"])
            if not told or size <= room:
                told.append(note)
                room -= size
        self.waiting = [note for note in self.waiting if note not in told]
        return [note.event for note in told]

    def _add(self, event: AgentEvent) -> None:
        try:
            moment = parse_moment(event.payload["when"])
        except InvalidExpression:
            return  # the tool refuses these; another tool of its name may not
        if self._facts is not None:  # the beginnings of turns are told only while a note waits
            self._turn = max(self._turn, self._facts.turn["number"])
        if self._count < MAX_NOTES:
            self._count += 1
            self.waiting.append(_WaitingNote(event, moment, self._turn))

    def _is_due(self, note: _WaitingNote, point: InjectionPoint) -> bool:
        moment = note.moment
        if moment.tool:
            return note.has_tool_run and point in ("after_tool", "turn_start")
        if point != "turn_start":
            return False
        if moment.turns:
            return self._turn >= note.turn + moment.turns
        return self._turn > note.turn and self._holds(moment.condition)

    def _holds(self, condition: Expression | None) -> bool:
        """Return whether a condition holds now. One that cannot be answered does not."""
        if condition is None or self._facts is None or self._heard is None:
            return False
        context: Mapping[str, Any] = self._facts.build_context(self._heard)
        try:
            return bool(condition.evaluate(context))
        except Unanswerable:
            return False
