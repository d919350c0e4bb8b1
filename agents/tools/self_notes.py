"""The tool by which a model writes a note to itself. Its result is the note's event."""

from typing import Annotated, Literal

from pydantic import Field

from agents.core.control import InvalidExpression
from agents.core.control.events import MAX_NOTE_LENGTH
from agents.core.control.problems import suggest_name
from agents.core.notify.self_notes import MAX_NOTES, parse_moment
from agents.core.ports import Service
from agents.tools.definition import ToolFailed, ToolRefused
from agents.tools.registry import TOOLS, tool

MAX_CATEGORY_LENGTH = 40


class NoteCount(Service):
    """How many notes a run has written to itself."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> None:
        """Count one more, or raise ToolRefused."""
        if self._count >= MAX_NOTES:
            raise ToolRefused(f"you have written {MAX_NOTES} notes, and a run may have no more.")
        self._count += 1


@tool(timeout=5, acknowledges=True)
async def notify_self(
    message: Annotated[
        str, Field(description="What to be told then.", min_length=1, max_length=MAX_NOTE_LENGTH)
    ],
    count: NoteCount,
    when: Annotated[
        str,
        Field(
            description="next_turn, after_turns:3, after_tool:NAME, or a condition such as "
            "turn.context_usage > 0.7 or history.total_failures >= 2",
            max_length=500,
        ),
    ] = "next_turn",
    keep: Annotated[
        bool,
        Field(description="If this run ends before that, keep it for the next one."),
    ] = False,
    category: Annotated[str, Field(max_length=MAX_CATEGORY_LENGTH)] = "",
    priority: Literal["low", "normal", "high"] = "normal",
) -> str:
    """Write a note that you will be told later in this run, when its moment has come."""
    try:
        moment = parse_moment(when)
    except InvalidExpression as error:
        problem = error.problems[0]
        raise ToolFailed(
            f"when: at character {problem.column}: {problem.message}. Use next_turn, "
            "after_turns:3, after_tool:NAME or a condition over turn and history."
        ) from None
    if moment.tool and moment.tool not in TOOLS:
        near = suggest_name(moment.tool, TOOLS.names())
        raise ToolFailed(f"when: there is no tool {moment.tool[:80]!r}{near}")
    count.add()
    kept = " If the run ends before, it is kept, if the user allows that." if keep else ""
    return f"Noted: you will be told ({when}).{kept}"
