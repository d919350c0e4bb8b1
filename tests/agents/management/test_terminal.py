"""What a run looks like in the terminal."""

import io

import pytest

from agents.core.chunks import (
    CallView,
    Content,
    Done,
    Error,
    OracleStreamChunk,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.management.terminal import Terminal

NOT_KEPT = "Unfinished work of a subagent was not kept."


class Screen(io.StringIO):
    """A terminal that can show colours, or a file that cannot."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def render(*chunks: OracleStreamChunk, is_terminal: bool = True) -> str:
    screen = Screen(is_terminal=is_terminal)
    terminal = Terminal(screen)
    for chunk in chunks:
        terminal.show(chunk)
    return screen.getvalue()


def notice(system_type: str, severity: str = "error") -> SystemMessage:
    return SystemMessage(
        system_type=system_type,  # type: ignore[arg-type]
        system_message="So it is.",
        severity=severity,  # type: ignore[arg-type]
        metadata={},
    )


@pytest.mark.parametrize(
    ("chunk", "colour"),
    [
        (notice("limit_reached"), "33"),
        (notice("no_progress"), "33"),
        (notice("limit_warning", "warning"), "33"),
        (notice("provider"), "31"),
        (notice("interrupted"), "31"),
        (notice("cancelled", "info"), "2"),
    ],
)
def test_limits_are_amber_errors_red_and_the_rest_is_dim(
    chunk: OracleStreamChunk, colour: str
) -> None:
    assert render(chunk) == f"\033[{colour}m! So it is.\033[0m\n"


def test_an_error_is_red() -> None:
    error = Error(code="provider_error", error="It does not answer.")
    assert render(error) == "\033[31mError: It does not answer.\033[0m\n"


def test_a_file_gets_no_colours_and_no_thinking() -> None:
    chunks = (Thinking(content="Hm."), Content(content="So."), notice("limit_reached"))
    assert render(*chunks, is_terminal=False) == "So.\n! So it is.\n"


@pytest.mark.parametrize(("used", "words"), [(1, "1 iteration,"), (4, "4 iterations,")])
def test_the_last_line_counts_iterations(used: int, words: str) -> None:
    done = Done(
        termination_reason="completed",
        outcome="completed",
        turns_used=used,
        tokens_used=345,
        usage_source="provider",
        model_used="scripted",
    )
    assert render(done) == f"\nCompleted: {words} 345 tokens (provider), scripted\n"


def called(call_id: str, name: str, parent: str = "") -> OracleStreamChunk:
    return ToolCalled(tool_call=CallView(call_id, name, {}, "running"), parent=parent)


def ended(call_id: str, text: str, *, ok: bool, parent: str = "") -> OracleStreamChunk:
    return ToolResult(
        tool_call_id=call_id, tool_result=text, ok=ok, duration_ms=7, order=0, parent=parent
    )


def test_of_an_unfinished_subagent_it_says_that_nothing_was_kept() -> None:
    text = render(
        called("a", "delegate_librarian"),
        Content(content="", parent="a"),
        called("a", "look", parent="a"),
        ended("a", "", ok=False, parent="a"),
        SystemMessage(
            system_type="provider", system_message="", severity="info", metadata={}, parent="a"
        ),
        ended("a", "The librarian has no answer.", ok=False),
        is_terminal=False,
    )
    assert text.splitlines() == [
        "- delegate_librarian {} [running]",
        "    - look {} [running]",
        "      failed after 7 ms: ",
        "  failed after 7 ms: The librarian has no answer.",
        f"  {NOT_KEPT}",
    ]


def test_a_subagent_that_finished_and_a_tool_that_failed_are_not_told_of() -> None:
    text = render(
        called("a", "delegate_librarian"),
        called("b", "look", parent="a"),
        ended("b", "nothing", ok=False, parent="a"),
        ended("a", "The summary.", ok=True),
        called("b", "look"),
        ended("b", "nothing", ok=False),
    )
    assert NOT_KEPT not in text


def test_what_is_not_the_answer_is_named_before_it() -> None:
    out = io.StringIO()
    terminal = Terminal(out)
    for label, text in (("Plan", "1. Look"), ("", "It is so.")):
        terminal.show(Turn(number=1, phase="start", interim=label))
        terminal.show(Content(content=text))
    assert out.getvalue() == "-- Plan, before the answer\n1. Look\n-- Answer\nIt is so."
