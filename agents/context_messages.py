"""Earlier runs as the messages that a model is sent: always valid, one result for every call."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from agents.core.chunks import (
    OUTCOME_UNKNOWN,
    Content,
    Done,
    OracleStreamChunk,
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
_NONE_DECIDED: Mapping[UUID, Collection[str]] = {}


def build_messages(
    run_ids: Sequence[UUID], decided: Mapping[UUID, Collection[str]] = _NONE_DECIDED
) -> list[Message]:
    """Return the conversation that these runs were, oldest first, without erased ones.

    `decided` are calls that a run has held, by its id, and that the run to come begins with.
    """
    if not run_ids:  # a first question; even an empty query takes its time
        return []
    runs = AgentRun.objects.exclude(question="").in_bulk(run_ids)
    chunks: dict[UUID, list[OracleStreamChunk]] = {run_id: [] for run_id in runs}
    for run_id, chunk in load_chunks_of_runs(runs, CONTEXT_KINDS):
        chunks[run_id].append(chunk)
    messages: list[Message] = []
    for run_id in run_ids:
        if run_id in runs:
            messages.append({"role": "user", "content": runs[run_id].question})
            later = {*decided.get(run_id, ()), *_find_continued_calls(run_id, runs, chunks)}
            messages += messages_from_chunks(chunks[run_id], later)
    return messages


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
    chunks: Iterable[OracleStreamChunk], later: Collection[str] = ()
) -> list[Message]:
    """Return what the model and its tools said in one run, turn by turn, without subagents.

    `later` are calls that were held in it and have their results in another run: there they are.
    """
    messages: list[Message] = []
    text: list[str] = []
    entries: dict[str, PlannedCall] = {}
    results: dict[str, str] = {}
    held: set[str] = set()
    explanation = ""

    def close_turn() -> None:
        if text or entries:
            _append_assistant(messages, assistant_message("".join(text), entries.values()))
            messages.extend(
                {
                    "role": "tool",
                    "tool_call_id": i,
                    "content": results.get(i, NOT_DECIDED if i in held else UNKNOWN_RESULT),
                }
                for i in entries
            )
        text.clear()
        entries.clear()
        results.clear()

    for chunk in chunks:
        if chunk.parent:
            continue
        match chunk:
            case Turn(phase="start"):
                close_turn()
            case Content(content=written):
                text.append(written)
            case ToolCalled(tool_call=call) if call.status == "held" and call.id in later:
                entries.pop(call.id, None)
            case ToolCalled(tool_call=call):
                if call.status == "held":
                    held.add(call.id)
                key = action_signature(call.name, call.arguments)
                entries[call.id] = PlannedCall(
                    len(entries), call.id, call.name, call.arguments, key
                )
            case ToolResult(tool_call_id=call_id, tool_result=result, given=given):
                results[call_id] = given or result
            case Done(outcome="limited", termination_reason=reason):
                explanation = f"[The answer above ended at a limit: {reason}.]"
            case Done(outcome="paused"):
                explanation = "[The user was asked to decide.]"
            case _:
                pass
    close_turn()
    return _end_with_assistant(messages, explanation)


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
