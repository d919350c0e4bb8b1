"""What a run did in its behaviour: the text that it began with, and its way from turn to turn.
Whatever is stored, reading it never raises."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import Case, TextField, Value, When
from django.db.models.functions import Cast

from agents.audit.event_codec import READ_ERRORS
from agents.core.behaviours.outline import BehaviourOutline, parse_outline
from agents.core.behaviours.plain_path import guess_ways, load_shipped_outline
from agents.core.behaviours.trace import BehaviourTrace, TurnWay, build_trace
from agents.core.chunks import PARSE_ERRORS, Decision, OracleStreamChunk, ToolResult, Turn
from agents.ledger import decode_undamaged, query_events
from agents.models import AgentRun, BehaviourText

MAX_EVENTS = 8_000
_KINDS = ("turn", "decision", "tool_result")
_LABEL = Case(When(kind="turn", then="content"), default=Value("", TextField()))
"""What the text of a turn is called; no other words are needed."""


def parse_turn(text: str) -> int | None:
    """Return the turn that somebody wants to look at, if it is one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else None


def load_trace(run: AgentRun, chosen_turn: int | None = None) -> BehaviourTrace | None:
    """Return a run in its behaviour; None if the text is not kept any more."""
    fold = WayFold(run.started_at.timestamp())
    for chunk in _load_chunks(run.pk):
        fold.add(chunk)
    return trace_ways(run, fold, chosen_turn)


def trace_ways(
    run: AgentRun, fold: "WayFold", chosen_turn: int | None = None
) -> BehaviourTrace | None:
    """Return the same for ways that were read already: one query."""
    outline = _load_outline(run)
    if outline is None:
        return None
    is_over = run.outcome is not None
    ways = fold.ways
    if not run.behaviour_digest:
        ways = guess_ways(fold.turns, is_over=is_over, is_wrapped_up=fold.is_wrapped_up)
    return build_trace(outline, ways, is_over=is_over, chosen_turn=chosen_turn)


def _load_outline(run: AgentRun) -> BehaviourOutline | None:
    if not run.behaviour_digest:
        return load_shipped_outline()
    found = BehaviourText.objects.filter(pk=run.behaviour_digest)
    try:
        stored = found.values_list("outline", flat=True).first()
        return parse_outline(stored) if stored else None
    except (*READ_ERRORS, *PARSE_ERRORS):
        return None


class WayFold:
    """The ways of a run, from its turns, results and decisions."""

    def __init__(self, began: float) -> None:
        self.ways: list[TurnWay] = []
        self.turns: list[tuple[TurnWay, bool]] = []
        """Those that a behaviour drives, each with whether it called tools."""
        self.is_wrapped_up = False
        self._since = began
        self._turn = 0
        self._interim = ""
        self._model_seconds = 0.0
        self._tool_seconds = 0.0
        self._called = False

    def add(self, chunk: OracleStreamChunk) -> None:
        match chunk:
            case Turn(phase="start"):
                self.start_turn(chunk.number, chunk.interim, is_wrap_up=bool(chunk.wrap_up))
            case Turn():
                self.end_turn(chunk.model_ms / 1000)
            case ToolResult():
                self.add_result(chunk.duration_ms / 1000)
            case Decision():
                self.add_decision(chunk.path, chunk.at)
            case _:
                pass

    def start_turn(self, number: int, interim: str, *, is_wrap_up: bool) -> None:
        self._turn, self._interim = number, interim
        self.is_wrapped_up |= is_wrap_up

    def end_turn(self, model_seconds: float) -> None:
        self._model_seconds = model_seconds

    def add_result(self, seconds: float) -> None:
        self._tool_seconds += seconds
        self._called = True

    def add_decision(self, path: str, at: float) -> None:
        way = TurnWay(
            turn=self._turn,
            path=path,
            interim=self._interim,
            seconds=max(0.0, at - self._since),
            model_seconds=self._model_seconds,
            tool_seconds=self._tool_seconds,
        )
        self.ways.append(way)
        if self._turn and not self.is_wrapped_up:
            self.turns.append((way, self._called))
        self._since, self._interim, self._called = at, "", False
        self._model_seconds = self._tool_seconds = 0.0


def _load_chunks(run_id: UUID) -> Iterator[OracleStreamChunk]:
    rows = (
        query_events([run_id])
        .annotate(data_text=Cast("data", TextField()), label=_LABEL)
        .filter(kind__in=_KINDS)
        .order_by("seq")
        .values_list("seq", "kind", "data_text", "label", "at")
    )
    return decode_undamaged(rows[:MAX_EVENTS])
