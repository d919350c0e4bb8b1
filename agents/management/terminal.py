"""A run in the terminal, chunk by chunk."""

import re
from typing import TextIO

from agents.core.chunks import (
    Chunk,
    Content,
    Done,
    Error,
    System,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.reasons import reason_of

_RESULT_CHARS = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Terminal:
    """Writes what people want to see of a run; text goes on where it stopped."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._in_text = False

    def show(self, chunk: Chunk) -> None:
        match chunk:
            case Content(content=text) if not chunk.parent:
                self._text(_plain(text))
            case Thinking(content=text) if not chunk.parent:
                self._text(f"\033[2m{_plain(text)}\033[0m" if self._out.isatty() else "")
            case ToolCalled(tool_call=call) if call.status != "pending":
                self._line(chunk, f"- {call.name} {_short(str(call.arguments))} [{call.status}]")
            case ToolResult(tool_result=result, ok=ok, duration_ms=ms):
                state = "ok" if ok else "failed"
                self._line(chunk, f"  {state} after {ms} ms: {_short(result)}")
            case System(system_message=message):
                self._line(chunk, f"! {message}")
            case Error(error=error, code=code) if code != "cancelled":  # its notice said so
                self._line(chunk, f"Error: {error}")
            case Turn(phase="start") if not chunk.parent:
                self._break()
            case Done():
                self._done(chunk)
            case _:
                pass

    def _text(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._in_text = self._in_text or bool(text)

    def _line(self, chunk: Chunk, text: str) -> None:
        self._break()
        indent = "    " if chunk.parent else ""
        self._out.write(f"{indent}{_plain(text)}\n")
        self._out.flush()

    def _break(self) -> None:
        if self._in_text:
            self._out.write("\n")
            self._in_text = False

    def _done(self, done: Done) -> None:
        self._break()
        if done.explanation:
            self._out.write(f"\n{done.explanation}\n")
        reason = reason_of(done.termination_reason)
        self._out.write(
            f"\n{reason.label}: {reason.sentence} {reason.remedy}\n"
            f"[{done.outcome}: {done.termination_reason}; {done.turns_used} turns, "
            f"{done.tokens_used:,} tokens ({done.usage_source}), {done.model_used}]\n"
        )


def _plain(text: str) -> str:
    """Text that cannot move the cursor, clear the screen or change the title."""
    return _CONTROL.sub("\ufffd", text)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _RESULT_CHARS else line[: _RESULT_CHARS - 1] + "…"
