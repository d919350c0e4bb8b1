"""Earlier runs as a later one needs them: their messages, always valid, with one result for every
call, and the sources that were found."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from agents.core.answer_sources import AnswerSources
from agents.core.chunks import (
    OUTCOME_UNKNOWN,
    Approval,
    CallView,
    Content,
    Done,
    OracleStreamChunk,
    SourceRef,
    ToolCalled,
    ToolResult,
    Turn,
    kinds_read_by,
)
from agents.core.loop import PlannedCall, assistant_message
from agents.core.messages import Message
from agents.core.reasons import Outcome
from agents.core.stuck import action_signature
from agents.ledger import load_chunks_of_runs
from agents.models import AgentRun

NOT_DECIDED = "Not run: the user was asked, and went on without deciding."
UNKNOWN_RESULT = f"{OUTCOME_UNKNOWN} the run ended before this call did. It may have taken effect."
CONTEXT_KINDS = kinds_read_by("context")
_SOURCE_KINDS = kinds_read_by("export")
MAX_SOURCES = 100
_NONE_DECIDED: Mapping[UUID, Collection[str]] = {}


def build_messages(
    run_ids: Sequence[UUID], decided: Mapping[UUID, Collection[str]] = _NONE_DECIDED
) -> list[Message]:
    """Return the conversation that these runs were, oldest first, without erased ones.

    `decided` has the run that the run to come resumes, with the calls that were held in it and are
    made now. What a behaviour wrote there before its answer is replayed, because it goes on from
    it; of all other runs, the answer alone is.
    """
    if not run_ids:  # a first question; even an empty query takes its time
        return []
    runs = AgentRun.objects.exclude(question="").in_bulk(run_ids)
    chunks: dict[UUID, list[OracleStreamChunk]] = {run_id: [] for run_id in runs}
    for run_id, chunk in load_chunks_of_runs(runs, CONTEXT_KINDS):
        chunks[run_id].append(chunk)
    messages: list[Message] = []
    resumed = set(_find_resumed(decided, runs))
    for run_id in run_ids:
        if run_id in runs:
            messages.append({"role": "user", "content": runs[run_id].question})
            later = {*decided.get(run_id, ()), *_find_continued_calls(run_id, runs, chunks)}
            is_resumed = run_id in resumed
            messages += messages_from_chunks(chunks[run_id], later, is_resumed=is_resumed)
    return messages


def _find_resumed(resumed: Collection[UUID], runs: Mapping[UUID, AgentRun]) -> Iterator[UUID]:
    """Yield the run that is resumed, and the paused ones that it had resumed itself."""
    run = next((runs[run_id] for run_id in resumed if run_id in runs), None)
    while run is not None and run.outcome == Outcome.PAUSED:
        yield run.pk
        run = runs.get(run.continued_from_id) if run.continued_from_id is not None else None


def load_sources(run_id: UUID) -> list[SourceRef]:
    """Return the sources that a run has found, at most `MAX_SOURCES`."""
    sources = AnswerSources()
    for _, chunk in load_chunks_of_runs([run_id], _SOURCE_KINDS):
        sources.apply(chunk)
    return sources.list_found(MAX_SOURCES)


def _find_continued_calls(
    run_id: UUID,
    runs: Mapping[UUID, AgentRun],
    chunks: Mapping[UUID, Sequence[OracleStreamChunk]],
) -> Iterator[str]:
    """Yield the calls of the runs that go on from a paused one: among them what it had held."""
    if runs[run_id].outcome != Outcome.PAUSED:
        return
    for later, run in runs.items():
        if run.continued_from_id == run_id:
            called = (chunk for chunk in chunks[later] if isinstance(chunk, ToolCalled))
            yield from (chunk.tool_call.id for chunk in called if not chunk.parent)


def messages_from_chunks(
    chunks: Iterable[OracleStreamChunk], later: Collection[str] = (), *, is_resumed: bool = False
) -> list[Message]:
    """Return what the model and its tools said in one run, turn by turn, without subagents.

    `later` are calls that were held in it and have their results in another run: there they are.
    Interim text is left out, unless the run is resumed.
    """
    fold = _MessageFold(later, is_resumed)
    for chunk in chunks:
        if not chunk.parent:
            fold.add(chunk)
    fold.close_turn()
    return _end_with_assistant(fold.messages, fold.explanation)


@dataclass(slots=True)
class _MessageFold:
    """The messages of one run, from its chunks."""

    later: Collection[str]
    is_resumed: bool = False
    messages: list[Message] = field(default_factory=list)
    explanation: str = ""
    """Why it ended, where the model has to know that."""
    _question: str = ""
    """What a behaviour asked the user."""
    _is_interim: bool = False
    _text: list[str] = field(default_factory=list)
    _entries: dict[str, PlannedCall] = field(default_factory=dict)
    _results: dict[str, str] = field(default_factory=dict)
    _held: set[str] = field(default_factory=set)

    def add(self, chunk: OracleStreamChunk) -> None:
        match chunk:
            case Turn(phase="start", interim=label):
                self.close_turn()
                self._is_interim = bool(label)
            case Content(content=written):
                if self.is_resumed or not self._is_interim:
                    self._text.append(written)
            case ToolCalled(tool_call=call):
                self._add_call(call)
            case ToolResult(tool_call_id=call_id, tool_result=result, given=given):
                self._results[call_id] = given or result
            case Done(termination_reason="declined"):
                self.explanation = "[The user said no, and nothing more was done.]"
            case Done(outcome="limited", termination_reason=reason):
                self.explanation = f"[The answer above ended at a limit: {reason}.]"
            case Approval(asker="behaviour", question=question) if not self.is_resumed:
                self._question = " ".join(question.split())
            case Done(outcome="paused"):
                what = f": {self._question}" if self._question else " to decide."
                self.explanation = f"[The user was asked{what}]"
            case _:
                pass

    def _add_call(self, call: CallView) -> None:
        if call.status == "held":
            if call.id in self.later:
                self._entries.pop(call.id, None)
                return
            self._held.add(call.id)
        key = action_signature(call.name, call.arguments)
        at = len(self._entries)
        self._entries[call.id] = PlannedCall(at, call.id, call.name, call.arguments, key)

    def close_turn(self) -> None:
        """Put what was said and called in a turn into the conversation, with its results."""
        text, entries = "".join(self._text), self._entries
        if self._text or entries:
            _append_assistant(self.messages, assistant_message(text, entries.values()))
            self.messages += [
                {"role": "tool", "tool_call_id": call_id, "content": self._get_result(call_id)}
                for call_id in entries
            ]
        self._text, self._entries, self._results = [], {}, {}

    def _get_result(self, call_id: str) -> str:
        missing = NOT_DECIDED if call_id in self._held else UNKNOWN_RESULT
        return self._results.get(call_id, missing)


def _append_assistant(messages: list[Message], message: Message) -> None:
    """Add what the assistant said, to what it said just before if nobody spoke in between: what
    the loop told it, such as to work off its plan, is not kept."""
    last = messages[-1] if messages else {"role": ""}
    if last["role"] == "assistant" and "tool_calls" not in last:
        both = (last["content"], message["content"])
        messages[-1] = {**message, "content": "\n\n".join(filter(None, both)) or None}
    else:
        messages.append(message)


def _end_with_assistant(messages: list[Message], explanation: str) -> list[Message]:
    """Return a run that can be followed by a question: it ends with the assistant."""
    if explanation or not messages or messages[-1]["role"] != "assistant":
        words = explanation or "[No answer was written.]"
        if messages and messages[-1]["role"] == "assistant":
            messages[-1] = {
                **messages[-1],
                "content": f"{messages[-1]['content'] or ''}\n\n{words}",
            }
        else:
            messages.append({"role": "assistant", "content": words})
    return messages
