"""The path to HEAD as Markdown, to be read or filed by people."""

import json
from collections.abc import Iterator

from agents.core.chunks import CallView, SourceRef, SystemMessage, ToolResult
from agents.core.reasons import Outcome, get_reason
from agents.web.notice_levels import notice_level
from chat.conversations import tree
from chat.conversations.titles import make_title
from chat.export.loader import ExportedExchange, iter_exchanges
from chat.export.markdown_escape import (
    contain_markdown,
    escape_markdown,
    format_code_block,
    format_code_span,
    format_quote,
)
from chat.models import Conversation


def markdown_document(conversation: Conversation) -> Iterator[str]:
    """Yield pieces of the document, one for each exchange."""
    updated = conversation.updated_at.strftime("%Y-%m-%d %H:%M UTC")
    title, project = map(escape_markdown, (conversation.title, conversation.project.name))
    yield f"# {title}\n\n{project}, {updated}\n"
    for entry in iter_exchanges(tree.load_shape(conversation).path(conversation.head_id)):
        yield "\n" + "\n\n".join(filter(None, _format_exchange(entry))) + "\n"


def _format_exchange(entry: ExportedExchange) -> Iterator[str]:
    run, record = entry.run, entry.record
    yield f"## {entry.number}. {escape_markdown(entry.exchange.label or make_title(run.question))}"
    yield format_quote(run.question)
    for call_id, call in record.calls.items():
        yield _format_call(call, record.results.get(call_id))
    yield from (_format_notice(notice) for notice in entry.notices if not entry.is_closing(notice))
    for label, text in record.list_interims():
        yield format_quote(f"**{escape_markdown(label)}, before the answer:**\n\n{text}")
    yield contain_markdown(entry.answer)
    yield from (_format_notice(notice) for notice in entry.notices if entry.is_closing(notice))
    yield format_quote(run.explanation) if run.explanation else ""
    if run.error and run.outcome != Outcome.CANCELLED:  # a notice has told of that
        yield format_quote(f"**Error:** {escape_markdown(run.error)}")
    yield _format_sources(entry)
    yield _format_run_line(entry)


def _format_notice(notice: SystemMessage) -> str:
    tone = notice_level(notice.system_type, notice.severity)
    who = "System" if tone == "neutral" else f"System, {tone}"
    return format_quote(f"**{who}:** {escape_markdown(notice.system_message)}")


def _format_call(call: CallView, result: ToolResult | None) -> str:
    if isinstance(call.arguments, str):
        arguments = call.arguments
    else:
        arguments = json.dumps(call.arguments, ensure_ascii=False, indent=2)
    parts = [
        f"**Tool** {format_code_span(call.name)}, {_format_ending(call, result)}",
        format_code_block(arguments, "json"),
        format_code_block(result.tool_result, "text") if result else "No result.",
    ]
    if result and result.given:
        parts += ["The model got this summary:", format_code_block(result.given, "text")]
    return "\n\n".join(parts)


def _format_ending(call: CallView, result: ToolResult | None) -> str:
    if call.status == "refused":
        return "refused"
    if result is None:
        return "running"
    return f"{'done' if result.ok else 'failed'} after {result.duration_ms / 1000:.1f} s"


def _format_sources(entry: ExportedExchange) -> str:
    listed = [_format_source(source) for source in entry.sources]
    if listed:
        return "\n".join(["**Sources**", "", *listed])
    note = entry.sources_note
    return f"*{note}*" if note else ""


def _format_source(source: SourceRef) -> str:
    line = f", line {source.line}" if source.line is not None else ""
    snippet = f": {escape_markdown(source.snippet)}" if source.snippet else ""
    return f"- {format_code_span(source.path)} ({source.source_type}{line}){snippet}"


def _format_run_line(entry: ExportedExchange) -> str:
    """Return one line: model, iterations, tokens, and why it ended."""
    run = entry.run
    ending = "still running" if run.outcome is None else get_reason(run.reason).label
    turns = f"{run.turns} iteration{'s' if run.turns != 1 else ''}"
    counted = f"{run.tokens_in:,} tokens in, {run.tokens_out:,} out"
    source = f" ({run.usage_source})" if run.usage_source else ""
    return f"{format_code_span(run.model)}, {turns}, {counted}{source}, {escape_markdown(ending)}"
