"""The explanation below a limited answer: it reads well with no model and no content."""

import re
from collections import Counter
from typing import Any

import pytest

from agents.core.loop.explanation import RunTally, build_explanation
from agents.core.reasons import REASONS
from agents.core.state import AgentState
from agents.core.stuck import ProgressTracker, TurnAction
from tests.agents.core.factories import fresh, limits

LIMITED = [code for code, entry in REASONS if entry.outcome == "limited"]
CONFIG = limits(max_iterations=10, token_budget=10_000, timeout_seconds=60)


def worked(**values: Any) -> AgentState:
    facts = {"turn": 10, "tokens_used": 9_500, "start_time": 100.0, "now": 142.25}
    return fresh(CONFIG, **{**facts, "usage_source": "provider", **values})


def reads_well(text: str) -> None:
    """Whole sentences, no leftovers of a template, no gaps."""
    assert not re.search(r"None|nan|\{|\}|  |\(\)|``|\.\.|\s\.", text.replace("…", ""))
    for paragraph in text.split("\n\n"):
        assert paragraph
        assert paragraph.strip() == paragraph
        assert paragraph.startswith(("**", "Errors:", "Not run")) or paragraph.endswith(".")


@pytest.mark.parametrize("reason", LIMITED)
def test_it_names_the_limit_what_was_used_what_was_done_and_what_to_do(reason: str) -> None:
    deeds = RunTally(ran=Counter({"look": 3, "find": 1}), wrote_text=True)
    text = build_explanation(reason, worked(), deeds)
    entry = REASONS.get(reason)
    assert entry.label in text
    assert entry.sentence in text
    assert entry.remedy in text
    assert "10 of 10 iterations" in text
    assert "9,500 of 10,000 tokens" in text
    assert "42.2 of 60 seconds" in text
    assert "look (3 times), find" in text
    reads_well(text)


@pytest.mark.parametrize("reason", LIMITED)
def test_it_reads_well_when_nothing_happened_at_all(reason: str) -> None:
    text = build_explanation(reason, fresh(CONFIG), RunTally())
    assert "0 of 10 iterations" in text
    assert "0 of 10,000 tokens" in text
    assert "No answer was written and no tool used." in text
    reads_well(text)


@pytest.mark.parametrize("reason", LIMITED)
def test_it_says_what_was_attempted_when_no_answer_was_written(reason: str) -> None:
    text = build_explanation(reason, worked(), RunTally(ran=Counter({"look": 2})))
    assert "Tools used: look (2 times). No answer was written." in text


def test_an_answer_without_tools_says_so() -> None:
    text = build_explanation("output_truncated", worked(), RunTally(wrote_text=True))
    assert "No tool was used." in text
    assert "No answer" not in text


@pytest.mark.parametrize(
    ("source", "said"), [("provider", False), (None, False), ("estimate", True), ("mixed", True)]
)
def test_estimated_tokens_are_said_to_be_estimated(source: str | None, said: bool) -> None:
    text = build_explanation("timeout", worked(usage_source=source), RunTally())
    assert ("estimated" in text) is said


def test_calls_that_were_not_run_are_listed() -> None:
    deeds = RunTally(not_run=["look:{} (Refused: at most 2 tool calls are run in one turn.)"])
    text = build_explanation("max_iterations", worked(), deeds)
    assert "- `look:{} (Refused" in text


def test_tool_errors_are_listed_when_they_ended_the_run() -> None:
    deeds = RunTally(errors=["look: no such note", "look: no such note", "find: broken"])
    text = build_explanation("error_limit", worked(), deeds)
    assert text.count("- `look: no such note`") == 1
    assert "- `find: broken`" in text
    assert "no such note" not in build_explanation("timeout", worked(), deeds)


def test_what_a_model_wrote_cannot_pass_for_our_words() -> None:
    hostile = "look: `` [click](https://evil.example) **now**"
    text = build_explanation("error_limit", worked(), RunTally(errors=[hostile]))
    assert f"- ``` {hostile} ```" in text


def test_a_long_list_is_cut_and_says_so() -> None:
    text = build_explanation("error_limit", worked(), RunTally(errors=[f"e{n}" for n in range(12)]))
    assert "- `e4`\n- and 7 more" in text
    assert "e5" not in text


def test_an_error_of_many_lines_stays_one_short_bullet() -> None:
    deeds = RunTally(errors=["look: first\n\n# second\n" + "x" * 5_000])
    text = build_explanation("error_limit", worked(), deeds)
    (bullet,) = [line for line in text.splitlines() if line.startswith("- ")]
    assert bullet.startswith("- `look: first # second")
    assert len(bullet) <= 204


def test_the_repeated_action_is_shown() -> None:
    track = ProgressTracker()
    for _ in range(3):
        track = track.with_step(TurnAction("look:{'p'}", "r", "r"))
    text = build_explanation("no_progress", worked(progress=track), RunTally())
    assert "Repeated: `look:{'p'}`." in text
    assert "Repeated" not in build_explanation("timeout", worked(progress=track), RunTally())


def test_the_smallest_budget_that_would_do_is_named() -> None:
    text = build_explanation("token_budget", fresh(CONFIG), RunTally(minimum_budget=12_300))
    assert "The smallest token budget that would do is about 12,300." in text
    assert REASONS.get("token_budget").remedy not in text


def test_a_question_beyond_every_budget_should_be_shorter() -> None:
    text = build_explanation("token_budget", fresh(CONFIG), RunTally(minimum_budget=200_100))
    assert "200,100" in text
    assert "shorter question" in text
    assert "smallest token budget" not in text


def test_the_largest_budget_is_still_offered() -> None:
    text = build_explanation("token_budget", fresh(CONFIG), RunTally(minimum_budget=200_000))
    assert "is about 200,000. Raise it" in text


def test_a_subagents_share_is_the_limit_that_is_shown() -> None:
    text = build_explanation("token_budget", worked(token_limit=500, time_limit=7.5), RunTally())
    assert "of 500 tokens" in text
    assert "of 7.5 seconds" in text
