"""A run as a story: its turns with their tool calls, notices, hints and checkpoints.

Made of metadata alone. What a subagent did is counted with the call that started it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.admin.run.event_rows import Event, safe_int

DONE, FAILED, REFUSED, RUNNING, QUEUED, UNKNOWN = (
    "done",
    "failed",
    "refused",
    "running",
    "queued",
    "unknown",
)
STATUS_LABELS = {
    DONE: "Done",
    FAILED: "Failed",
    REFUSED: "Refused",
    RUNNING: "Running",
    QUEUED: "Queued",
    UNKNOWN: "Unknown",
}


@dataclass(slots=True, eq=False)
class HistoryCall:
    """One tool call of the main chain."""

    name: str
    began: float
    status: str = QUEUED
    ended: float | None = None
    seconds: float = 0.0
    subagent_calls: int = 0
    """Calls of the subagent that it started."""

    @property
    def display(self) -> str:
        said = STATUS_LABELS[self.status]
        if self.status in (DONE, FAILED):
            said += f" {self.seconds:.1f} s"
        return f"{said}, {self.subagent_calls} of a subagent" if self.subagent_calls else said


@dataclass(slots=True, eq=False)
class HistoryNotice:
    """A system message, without its words."""

    at: float
    kind: str
    severity: str
    numbers: str

    @property
    def title(self) -> str:
        said = self.kind.replace("_", " ").capitalize() or "Notice"
        return f"{said} ({self.numbers})" if self.numbers else said


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A decision as it was recorded."""

    seq: int
    at: float
    name: str
    goes_on: bool
    reason: str
    tree: str
    checks: list[Mapping[str, Any]]
    after_turn: int


@dataclass(slots=True, eq=False)
class HistoryHint:
    """Words that were added to what the model was sent: where they are, not what they are."""

    seq: int
    at: float
    turn: int
    size: int


@dataclass(slots=True, eq=False)
class HistoryTurn:
    """One turn, from its start to its end if it has one."""

    number: int
    began: float
    ended: float | None = None
    wrap_up: str = ""
    answered: bool = False
    model_seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    subagent_tokens: int = 0
    usage_source: str = ""
    finish_reason: str = ""
    calls: list[HistoryCall] = field(default_factory=list)
    notices: list[HistoryNotice] = field(default_factory=list)
    checkpoint: Checkpoint | None = None
    """The one after it."""

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out + self.subagent_tokens


@dataclass(slots=True, eq=False)
class RunHistory:
    turns: list[HistoryTurn] = field(default_factory=list)
    notices: list[HistoryNotice] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    hints: list[HistoryHint] = field(default_factory=list)
    subagent_checkpoints: int = 0
    """Decisions about subagents: they have limits of their own."""
    _calls: dict[str, HistoryCall] = field(default_factory=dict)
    _now: float = 0.0

    @classmethod
    def from_events(
        cls, events: Iterable[Event], began: float, ended: float | None
    ) -> "RunHistory":
        """Fold events into a history. Calls without a result when the run `ended` never got one."""
        history = cls(_now=began)
        for event in events:
            history._apply(event)
        if ended is not None:
            for call in history._calls.values():
                if call.status in (QUEUED, RUNNING):
                    call.status, call.ended = UNKNOWN, ended
        return history

    @property
    def calls(self) -> list[HistoryCall]:
        return [call for turn in self.turns for call in turn.calls]

    @property
    def open_calls(self) -> list[HistoryCall]:
        return [call for call in self.calls if call.status in (QUEUED, RUNNING)]

    @property
    def used_turns(self) -> int:
        return sum(turn.answered for turn in self.turns)

    @property
    def used_tokens(self) -> int:
        return sum(turn.tokens for turn in self.turns)

    # -- events -----------------------------------------------------------------------------------

    def _apply(self, event: Event) -> None:
        if event.at is not None:
            self._now = event.at
        if event.parent:
            self._apply_subagent(event)
            return
        match event.kind:
            case "turn" if event.text("phase") == "end":
                self._end_turn(event)
            case "turn":
                wrap_up = event.text("wrap_up")
                self.turns.append(HistoryTurn(event.number("number"), self._now, wrap_up=wrap_up))
            case "tool_call":
                self._apply_call(event)
            case "tool_result":
                self._apply_result(event)
            case "system":
                self._apply_notice(event)
            case "decision":
                self._apply_decision(event)
            case "hint":
                self.hints.append(
                    HistoryHint(event.seq, self._now, self._get_current_number(), event.size)
                )
            case _:
                pass  # how it ended is in the run's row

    def _apply_subagent(self, event: Event) -> None:
        outer = self._calls.get(event.parent)
        if event.kind == "decision":
            self.subagent_checkpoints += 1
        elif event.kind == "tool_result" and outer is not None:
            outer.subagent_calls += 1

    def _get_current_turn(self) -> HistoryTurn:
        """Return the last turn; for a call before any, which is damage, one that has no number."""
        if not self.turns:
            self.turns.append(HistoryTurn(0, self._now))
        return self.turns[-1]

    def _get_current_number(self) -> int:
        return self.turns[-1].number if self.turns else 0

    def _end_turn(self, event: Event) -> None:
        turn = self._get_current_turn()
        turn.ended = self._now
        turn.answered = event.flag("answered")
        turn.model_seconds = event.number("model_ms") / 1000
        turn.tokens_in = event.number("prompt_tokens")
        turn.tokens_out = event.number("completion_tokens")
        turn.subagent_tokens = event.number("subagent_tokens")
        turn.usage_source = event.text("usage_source")
        turn.finish_reason = event.text("finish_reason")

    def _apply_call(self, event: Event) -> None:
        call_id, status = event.text("tool_call", "id"), event.text("tool_call", "status")
        call = self._calls.get(call_id)
        if call is None or call.status not in (QUEUED, RUNNING):
            name = event.text("tool_call", "name") or "unknown"
            call = self._calls[call_id] = HistoryCall(name, self._now)
            self._get_current_turn().calls.append(call)
        if status == "running":
            call.status, call.began = RUNNING, self._now
        elif status == "refused":
            call.status, call.ended = REFUSED, self._now

    def _apply_result(self, event: Event) -> None:
        call = self._calls.get(event.text("tool_call_id"))
        if call is None:
            return
        call.ended, call.seconds = self._now, max(0, event.number("duration_ms")) / 1000
        if call.status != REFUSED:
            call.status = DONE if event.flag("ok") else FAILED

    def _apply_notice(self, event: Event) -> None:
        numbers = _format_measure(event)
        kind, severity = event.text("system_type"), event.text("severity")
        notice = HistoryNotice(self._now, kind, severity, numbers)
        self.notices.append(notice)
        if self.turns:
            self.turns[-1].notices.append(notice)

    def _apply_decision(self, event: Event) -> None:
        checkpoint = Checkpoint(
            event.seq,
            self._now,
            event.text("checkpoint"),
            event.flag("continue"),
            event.text("reason"),
            event.text("tree"),
            list(event.items("checks")),
            self._get_current_number(),
        )
        self.checkpoints.append(checkpoint)
        if self.turns:
            self.turns[-1].checkpoint = checkpoint


def _format_measure(event: Event) -> str:
    """Return what a notice measured: words of ours and numbers, never what somebody wrote."""
    metadata = event.data.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    value, limit = known.get("current_value"), known.get("limit_value")
    what = event.text("metadata", "limit_type").replace("_", " ")
    if not isinstance(value, int | float) or not isinstance(limit, int | float):
        return what
    return f"{what}: {_format_number(value)} of {_format_number(limit)}"


def _format_number(value: float) -> str:
    is_whole = isinstance(value, int) or value.is_integer()
    return f"{safe_int(value):,}" if is_whole else f"{value:,.1f}"
