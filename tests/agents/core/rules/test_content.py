"""Which expressions look at what people, models and tools wrote."""

import pytest

from agents.core.rules.content import ExpressionContent


@pytest.mark.parametrize(
    "expression",
    [
        "result",
        "event",
        "event.payload",
        "history",
        "history.tools",
        "history.tools[0]",
        "[t for t in history.tools]",
        "any(t == state.seen for t in history.tools)",
        "result if result.success else 1",
        "len(history.sources) > 3",
        "result.\uff45rror",
        "[t.\uff41rguments for t in history.tools]",
    ],
)
def test_a_thing_with_words_inside_counts_as_looking_at_them(expression: str) -> None:
    assert ExpressionContent(expression).reads_content()


@pytest.mark.parametrize(
    "expression",
    [
        "history.failures[result.tool_name] >= 3",
        "len(history.tools) > 3 and event.type == 'turn.end'",
        "any(t.name == 'vault_read' for t in history.tools)",
        "history.tools[0].duration_ms > 3",
        "sum(n for n in [1, 2]) > 1",
    ],
)
def test_names_and_numbers_are_no_words(expression: str) -> None:
    assert not ExpressionContent(expression).reads_content()


def test_names_are_told_however_their_letters_are_written() -> None:
    assert "note_count" in ExpressionContent("project.\uff4eote_count > 0").names


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("turn.token_usage > 0.5 and history.total_tool_calls > 8", set()),
        ("turn.elapsed > 3", {"time"}),
        ("turn.time_usage > 0.5", {"time"}),
        ("state.last == turn", {"time"}),
        ("any(t.elapsed > 3 for t in [turn])", {"time"}),
        ("event.payload.writes", {"event"}),
        ("result.duration_ms > 20000 or event.severity == 'error'", {"event", "result"}),
    ],
)
def test_it_is_known_what_a_condition_looks_at_that_every_event_changes(
    expression: str, parts: set[str]
) -> None:
    assert ExpressionContent(expression).list_parts() == parts
