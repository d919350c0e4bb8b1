"""A run read back from its chunks: what a page, a command line or a test wants to know of it."""

from dataclasses import dataclass, field
from typing import Any

from agents.core.answer_sources import AnswerSources
from agents.core.chunks import (
    Approval,
    CallView,
    Content,
    Done,
    Error,
    EventRecord,
    KeptResult,
    OracleStreamChunk,
    Source,
    Status,
    SystemMessage,
    ToolCalled,
    ToolResult,
    Turn,
)


@dataclass(slots=True)
class RunRecord:
    """Everything a run has said so far, main chain only unless it says otherwise.

    What a subagent wrote is never part of the answer: its report is the result of its call.
    """

    texts: list[list[str]] = field(default_factory=list)
    interims: list[tuple[str, list[str]]] = field(default_factory=list)
    """What was written before the answer, each with its label: a plan, a draft."""
    calls: dict[str, CallView] = field(default_factory=dict)
    started: dict[str, float] = field(default_factory=dict)
    results: dict[str, ToolResult] = field(default_factory=dict)
    kept_results: dict[str, KeptResult] = field(default_factory=dict)
    """Those that a summary was waited for."""
    notices: list[SystemMessage] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    used_sources: AnswerSources = field(default_factory=AnswerSources)
    """Those that the answer stands on, also through a subagent."""
    turns: list[Turn] = field(default_factory=list)
    rule_states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What rules have remembered anew, by their keys."""
    approval: Approval | None = None
    error: Error | None = None
    done: Done | None = None
    _text: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._start_text("")

    def add(self, chunk: OracleStreamChunk) -> None:
        self.used_sources.apply(chunk)
        if chunk.parent:
            return
        match chunk:
            case Content(content=text):
                self._text.append(text)
            case Turn(phase="start", interim=label):
                self._start_text(label)
            case Turn():
                self.turns.append(chunk)
            case ToolCalled(tool_call=call):
                self.calls[call.id] = call
                self.started[call.id] = chunk.at
            case ToolResult(tool_call_id=call_id):
                self.results[call_id] = chunk
            case KeptResult(tool_call_id=call_id):
                self.kept_results[call_id] = chunk
            case SystemMessage():
                self.notices.append(chunk)
            case Source():
                self.sources.append(chunk)
            case EventRecord(name="rule.fired", told={"rule": rule, "state": changes}):
                if changes:
                    self.rule_states.setdefault(rule, {}).update(changes)
            case Approval():
                self.approval = chunk
            case Error():
                self.error = chunk
            case Done():
                self.done = chunk
            case _:
                pass

    @property
    def held_calls(self) -> list[CallView]:
        """Those that wait for a person, as far as the run asks about them."""
        asked = self.approval.calls if self.approval is not None else ()
        return [self.calls[call_id] for call_id in asked if call_id in self.calls]

    @property
    def answer(self) -> str:
        """The model's own words: every character, turns set apart by an empty line. What it wrote
        on the way to its answer is not part of it."""
        return "\n\n".join(text for text in map("".join, self.texts) if text)

    def list_interims(self) -> list[tuple[str, str]]:
        """Return what it wrote on the way, each text with its label."""
        written = ((label, "".join(texts)) for label, texts in self.interims)
        return [(label, text) for label, text in written if text]

    def status(self, now: float) -> Status | None:
        """Return the heartbeat at this time: which tools are running, and for how long."""
        running = [c for c in self.calls.values() if c.status == "running"]
        waiting = [call for call in running if call.id not in self.results]
        if not waiting:
            return None
        since = min(self.started[call.id] for call in waiting)
        return Status(at=now, tools=tuple(call.name for call in waiting), seconds=now - since)

    def _start_text(self, interim: str) -> None:
        self._text = []
        if interim:
            self.interims.append((interim, self._text))
        else:
            self.texts.append(self._text)
