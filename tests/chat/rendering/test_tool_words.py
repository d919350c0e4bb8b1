"""Cards speak of tools as people do, and show what tells most of a call."""

from typing import Any

import pytest

from agents.tools.registry import TOOLS, get
from agents.web.tool_titles import get_title
from chat.rendering.tool_words import (
    _TELLING,
    ARGUMENT_CHARS,
    name_tools,
    summarize_arguments,
)

SHIPPED = [name for name, tool in TOOLS if tool.function.__module__.startswith("agents.tools.")]


@pytest.mark.parametrize("name", SHIPPED)
def test_each_tool_that_comes_with_oracle_has_a_title(name: str) -> None:
    assert get_title(name)[0].isupper()
    assert "_" not in get_title(name)


def test_what_tells_most_of_a_call_are_arguments_of_a_tool_that_there_is() -> None:
    unknown = {
        name: set(telling) - set(get(name).arguments.model_fields)
        for name, telling in _TELLING.items()
    }
    assert unknown == {name: set() for name in _TELLING}


@pytest.mark.parametrize("name", ["check_claim", "vault_burn", "", "<b>"])
def test_another_tool_keeps_its_name(name: str) -> None:
    assert get_title(name) == name


@pytest.mark.parametrize(
    ("tool", "arguments", "gist"),
    [
        ("vault_search", {"queries": ["salt", "sea"], "limit": 8}, "salt, sea"),
        ("vault_search", {"queries": ["salt"], "folder": "plan"}, "salt, plan"),
        ("vault_write", {"path": "a.md", "body": "# A\n\nLong.", "title": "A"}, "a.md"),
        ("vault_move", {"old_path": "a.md", "new_path": "b/a.md"}, "a.md → b/a.md"),
        ("vault_list", {}, ""),
        ("vault_read", {"path": ["not", 1, "path"]}, '["not", 1, "path"]'),
        ("vault_read", "not even JSON", "not even JSON"),
        ("vault_read", {"nonsense": 1, "more": 2}, "nonsense: 1, more: 2"),
        ("check_claim", {"path": "a.md", "line": 3}, "path: a.md, line: 3"),
        ("notify_self", {"message": "Look again."}, "Look again."),
        ("notify_self", {"message": "Look.", "when": "next_turn"}, "Look."),
        ("notify_self", {"message": "Look.", "when": "after_turns:1"}, "Look. (after 1 turn)"),
        (
            "notify_self",
            {"message": "Look.", "when": "after_tool:vault_write"},
            "Look. (after Write note)",
        ),
        (
            "notify_self",
            {"message": "Look.", "when": "turn.context_usage > 0.7"},
            "Look. (when turn.context_usage > 0.7)",
        ),
        ("think", {"thought": "x" * 200}, "x" * (ARGUMENT_CHARS - 1) + "…"),
    ],
)
def test_the_gist_of_a_call_is_what_tells_most(tool: str, arguments: Any, gist: str) -> None:
    assert summarize_arguments(tool, arguments) == gist


def test_what_a_run_says_of_its_work_has_the_titles_of_tools() -> None:
    said = (
        "The run used all.\nTools used: vault_search (3 times), think, mine. No answer was written."
    )
    shown = (
        "The run used all.\nTools used: Search notes (3 times), Think, mine. No answer was written."
    )
    assert name_tools(said) == shown
    assert name_tools("Why vault_search?") == "Why vault_search?"
