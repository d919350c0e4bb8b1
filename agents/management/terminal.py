"""A run in the terminal, chunk by chunk."""

import re
from typing import TextIO

from agents.core.chunks import (
    Approval,
    Content,
    Done,
    Error,
    OracleStreamChunk,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
    qualify_call_id,
)
from agents.core.reasons import get_reason
from agents.core.sanitize import truncate
from agents.web.notice_levels import NoticeLevel, notice_level

_RESULT_CHARS = 200
_DIM = "2"
_COLOURS: dict[NoticeLevel, str] = {"limit": "33", "error": "31", "neutral": _DIM}
"""Amber, red and grey, in the numbers of terminals."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Terminal:
    """Writes what people want to see of a run; text goes on where it stopped."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._in_text = False
        self._interim = ""
        self._subagents: set[str] = set()
        """The calls that have started one."""

    def show(self, chunk: OracleStreamChunk) -> None:
        self._subagents.add(chunk.parent)
        match chunk:
            case Content(content=text) if not chunk.parent:
                self._write_text(replace_control_characters(text))
            case Thinking(content=text) if not chunk.parent:
                self._write_text(
                    self._colourise(replace_control_characters(text), _DIM)
                    if self._out.isatty()
                    else ""
                )
            case ToolCalled(tool_call=call) if call.status != "pending":
                self._write_line(
                    chunk, f"- {call.name} {_truncate(str(call.arguments))} [{call.status}]"
                )
            case ToolResult(tool_result=result, ok=ok, duration_ms=ms):
                state = "ok" if ok else "failed"
                self._write_line(chunk, f"  {state} after {ms} ms: {_truncate(result)}")
                has_subagent = qualify_call_id(chunk.parent, chunk.tool_call_id) in self._subagents
                if chunk.given:
                    self._write_line(chunk, f"  summarised: {_truncate(chunk.given)}")
                elif has_subagent and not chunk.has_finished:
                    self._write_line(chunk, "  Unfinished work of a subagent was not kept.")
            case SystemMessage(system_message=message, system_type=kind, severity=severity) if (
                message
            ):
                self._write_line(chunk, f"! {message}", _COLOURS[notice_level(kind, severity)])
            case Error(error=error, code=code) if code != "cancelled":  # its notice said so
                self._write_line(chunk, f"Error: {error}", _COLOURS["error"])
            case Approval(question=question, approval_id=run_id):
                self._write_line(chunk, f"? {question}")
                self._write_line(chunk, f"  Decide with: manage.py approve {run_id}")
            case Turn(phase="start") if not chunk.parent:
                self._start_turn(chunk)
            case Done():
                self._write_ending(chunk)
            case _:
                pass

    def _start_turn(self, turn: Turn) -> None:
        """Say which text is not the answer, and where the answer begins."""
        self._end_text()
        if turn.interim:
            self._write_line(turn, f"-- {turn.interim}, before the answer", _DIM)
        elif self._interim:
            self._write_line(turn, "-- Answer", _DIM)
        self._interim = turn.interim

    def _write_text(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._in_text = self._in_text or bool(text)

    def _write_line(self, chunk: OracleStreamChunk, text: str, colour: str = "") -> None:
        self._end_text()
        indent = "    " if chunk.parent else ""
        self._out.write(f"{indent}{self._colourise(replace_control_characters(text), colour)}\n")
        self._out.flush()

    def _colourise(self, text: str, colour: str) -> str:
        return f"\033[{colour}m{text}\033[0m" if colour and self._out.isatty() else text

    def _end_text(self) -> None:
        if self._in_text:
            self._out.write("\n")
            self._in_text = False

    def _write_ending(self, done: Done) -> None:
        self._end_text()
        if done.explanation:
            self._out.write(f"\n{done.explanation}\n")
        reason = get_reason(done.termination_reason)
        parts = (reason.sentence, reason.remedy) if reason.code != "completed" else ()
        words = "".join(f"{text} " for text in parts if text not in done.explanation)
        self._out.write(
            f"\n{reason.label}: {words}"
            f"{done.turns_used} iteration{'' if done.turns_used == 1 else 's'}, "
            f"{done.tokens_used:,} tokens ({done.usage_source}), {done.model_used}\n"
        )


def replace_control_characters(text: str) -> str:
    """Return text that cannot move the cursor, clear the screen or change the title."""
    return _CONTROL.sub("\ufffd", text)


def make_printable(text: str, out: TextIO) -> str:
    """Return text that a stream can take: names of files need not be Unicode, terminals neither."""
    encoding = out.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _truncate(text: str) -> str:
    return truncate(" ".join(text.split()), _RESULT_CHARS)
