"""What a run keeps for a later one, and what it has told of what earlier ones kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.core.chunks import EventRecord, Hint, OracleStreamChunk, ToolCalled, ToolResult
from agents.core.control.event_stream import SELF_NOTE, SELF_NOTE_TOOL, EventStream
from agents.core.control.events import MAX_NOTE_LENGTH, AgentEvent
from agents.core.sanitize import quote_as_data
from agents.core.state import Notice

REMINDED = "agent.self.remind"
RULE_NOTE = "rule.notify"


@dataclass(frozen=True, slots=True)
class KeptNote:
    """Words to be told in a later run. `seq` is that of the chunk that recorded them."""

    seq: int
    text: str
    category: str = ""
    priority: str = "normal"
    rule: str = ""
    """The rule that kept them; empty if the model did."""


class ReminderLog:
    """Takes in the chunks of one run, or its events and which of them the model was told."""

    def __init__(self) -> None:
        self._kept: dict[int, KeptNote] = {}
        self._reminded: dict[int, int] = {}
        self._told: set[int] = set()
        self._stream = EventStream()

    def add(self, chunk: OracleStreamChunk) -> None:
        if isinstance(chunk, Hint) and not chunk.parent:
            self.record_told(chunk.events)
        elif _may_tell(chunk):
            for event in self._stream.feed(chunk):
                self.hear(event)

    def hear(self, event: AgentEvent) -> None:
        payload = event.payload
        if event.name in (SELF_NOTE, RULE_NOTE) and payload.get("keep"):
            self._kept[event.seq] = _build_note(event)
        elif event.name == REMINDED:
            self._reminded[event.seq] = payload["reminder"]

    def record_told(self, events: Iterable[int]) -> None:
        """Note that these events were told to the model, by the numbers of their chunks."""
        self._told.update(events)

    @property
    def kept(self) -> list[KeptNote]:
        """What is to be kept if the run ends now: what rules kept, and what the model has written
        to itself and was not told yet."""
        return [note for note in self._kept.values() if note.rule or note.seq not in self._told]

    @property
    def told(self) -> list[int]:
        """Which reminders of earlier runs the model was told, by their ids."""
        return [number for seq, number in self._reminded.items() if seq in self._told]


def _may_tell(chunk: OracleStreamChunk) -> bool:
    """Return whether a chunk can be of interest. Of what other tools did, no events are made here:
    the loop makes them for all who want them."""
    if isinstance(chunk, ToolCalled):
        return chunk.tool_call.name == SELF_NOTE_TOOL
    return isinstance(chunk, EventRecord | ToolResult)


def build_kept_notice(notes: Sequence[KeptNote]) -> Notice:
    """Tell people what the run keeps for a later one."""
    words = "; ".join(quote_as_data(note.text, MAX_NOTE_LENGTH) for note in notes)
    return Notice(
        key="kept",
        system_type="notification",
        message=f"Kept for a later run: {words}",
        severity="info",
        metadata={"subscriber": "reminders", "events": ["agent.self.notify"], "count": len(notes)},
    )


def _build_note(event: AgentEvent) -> KeptNote:
    about = event.payload
    return KeptNote(
        event.seq,
        str(about["message"]),
        str(about.get("category", "")),
        str(about.get("priority", "normal")),
        str(about.get("rule", "")),
    )
