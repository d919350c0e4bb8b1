"""The path to HEAD as Markdown, to be read or filed by people."""

import json
from collections.abc import Iterator

from agents.core.chunks import CallView, Source, ToolResult
from agents.core.reasons import REASONS, Outcome
from chat import tree
from chat.export.fences import code, contained, escaped, fenced, quoted
from chat.export.records import Entry, read
from chat.models import Conversation
from chat.titles import title_of


def markdown_document(conversation: Conversation) -> Iterator[str]:
    """Pieces of the document, one for each exchange."""
    updated = conversation.updated_at.strftime("%Y-%m-%d %H:%M UTC")
    yield f"# {escaped(conversation.title)}\n\n{escaped(conversation.project.name)}, {updated}\n"
    for entry in read(tree.shape(conversation).path(conversation.head_id)):
        yield "\n" + "\n\n".join(filter(None, _exchange(entry))) + "\n"


def _exchange(entry: Entry) -> Iterator[str]:
    run, record = entry.run, entry.record
    yield f"## {entry.number}. {escaped(entry.exchange.label or title_of(run.question))}"
    yield quoted(run.question)
    for call_id, call in record.calls.items():
        yield _call(call, record.results.get(call_id))
    stopped = run.outcome == Outcome.CANCELLED  # told by the last notice, after the answer
    told = [
        quoted(f"**System, {n.severity}:** {escaped(n.system_message)}") for n in record.notices
    ]
    yield from told[: len(told) - stopped]
    yield contained(entry.answer)
    yield from told[len(told) - stopped :]
    yield quoted(run.explanation) if run.explanation else ""
    yield quoted(f"**Error:** {escaped(run.error)}") if run.error and not stopped else ""
    yield _sources(record.sources)
    yield _about(entry)


def _call(call: CallView, result: ToolResult | None) -> str:
    if isinstance(call.arguments, str):
        arguments = call.arguments
    else:
        arguments = json.dumps(call.arguments, ensure_ascii=False, indent=2)
    return "\n\n".join(
        (
            f"**Tool** {code(call.name)}, {_ending(call, result)}",
            fenced(arguments, "json"),
            fenced(result.tool_result, "text") if result else "No result.",
        )
    )


def _ending(call: CallView, result: ToolResult | None) -> str:
    if call.status == "refused":
        return "refused"
    if result is None:
        return "running"
    return f"{'done' if result.ok else 'failed'} after {result.duration_ms / 1000:.1f} s"


def _sources(sources: list[Source]) -> str:
    if not sources:
        return ""
    return "\n".join(["**Sources**", "", *(_source(chunk) for chunk in sources)])


def _source(chunk: Source) -> str:
    source = chunk.source
    line = f", line {source.line}" if source.line is not None else ""
    snippet = f": {escaped(source.snippet)}" if source.snippet else ""
    return f"- {code(source.path)} ({source.source_type}{line}){snippet}"


def _about(entry: Entry) -> str:
    """One line: model, turns, tokens, and why it ended."""
    run = entry.run
    if run.outcome is None:
        ending = "still running"
    else:
        ending = REASONS.get(run.reason).label if run.reason in REASONS else run.reason
    turns = f"{run.turns} turn{'s' if run.turns != 1 else ''}"
    counted = f"{run.tokens_in:,} tokens in, {run.tokens_out:,} out"
    source = f" ({run.usage_source})" if run.usage_source else ""
    return f"{code(run.model)}, {turns}, {counted}{source}, {escaped(ending)}"
