"""The instruments themselves: a fault that happened would be seen."""

import asyncio
import json

import pytest

from tests.faults.client import Viewer, is_in_order, mismatches
from tests.faults.figures import Figures, share
from tests.faults.model import HANGS, Script, events, plan

SCRIPT = Script(words=4, delay=0.0)


def viewer(*words: str, reason: str = "completed") -> Viewer:
    """Somebody who received these words and then an end."""
    said = [{"type": "content", "content": f"{word} "} for word in words]
    ended = [{"type": "done", "termination_reason": reason}] if reason else []
    numbered = ({**chunk, "seq": seq} for seq, chunk in enumerate([*said, *ended], start=1))
    return Viewer("run", [json.dumps(chunk) for chunk in numbered])


WHOLE = viewer("w0", "w1", "w2", "w3")


def test_a_part_that_is_stored_so_has_no_mismatch() -> None:
    assert mismatches(viewer("w0", "w1", reason=""), WHOLE) == 0
    assert mismatches(WHOLE, WHOLE) == 0


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("w0", "w2"), 1),
        (("w0", "w0"), 1),
        (("w1", "w0"), 2),
        (("w0", "w1", "w2", "w3", "w4", "w5"), 2),
    ],
)
def test_a_line_that_is_lost_doubled_moved_or_made_up_is_counted(
    words: tuple[str, ...], count: int
) -> None:
    assert mismatches(viewer(*words, reason=""), WHOLE) == count


@pytest.mark.parametrize("reason", ["interrupted", "user_cancelled"])
def test_a_run_that_was_cut_off_may_lack_its_last_words(reason: str) -> None:
    assert is_in_order(viewer("w0", "w1", reason=reason), SCRIPT)


@pytest.mark.parametrize(
    "words", [("w0", "w1", "w2"), ("w0", "w2", "w1", "w3"), ("w0", "w1", "w1", "w2", "w3")]
)
def test_a_completed_run_says_all_words_once_and_in_order(words: tuple[str, ...]) -> None:
    assert is_in_order(WHOLE, SCRIPT)
    assert not is_in_order(viewer(*words), SCRIPT)


def test_a_gap_in_the_numbers_is_seen() -> None:
    gap = Viewer("run", [WHOLE.lines[0], *WHOLE.lines[2:]])
    assert not is_in_order(gap, SCRIPT)


def test_a_broken_bound_is_named_in_the_line() -> None:
    figures = Figures("kill", slack=2.0)
    figures.none("lines lost", 3)
    figures.at_most("growth MB", 16.5, 16.0)
    figures.under("stopped after s", 1.9, 1.0)
    figures.under("settled after s", 2.1, 1.0)
    figures.some("lines", 0)
    figures.exactly("runs", 2, 1)
    assert len(figures.broken) == 4
    assert figures.late == ["settled after s: 2.100 is not under 2"]
    assert "BROKEN lines lost: 3 instead of 0" in figures.line()
    assert "BROKEN settled after s" in figures.line()


def test_a_share_is_taken_of_the_ordered_values() -> None:
    assert share([5.0, 1.0, 3.0], 0.5) == 3.0
    assert share([1.0] * 95 + [9.0] * 5, 0.95) == 9.0
    assert share([], 0.5) == 0.0


async def test_the_model_calls_tools_and_then_says_its_words() -> None:
    script = Script(words=2, delay=0.0, tool_turns=1)
    asked = [{"role": "system", "content": "x"}, {"role": "user", "content": script.question()}]
    said = [event["delta"] async for event in events(*plan(asked))]
    assert said[0]["tool_calls"][0]["function"]["name"] == "think"
    asked += [{"role": "assistant", "content": ""}, {"role": "tool", "content": "Noted."}]
    asked += [{"role": "user", "content": "a hint of the loop"}]
    said = [event["delta"] async for event in events(*plan(asked))]
    assert [delta.get("content") for delta in said] == ["w0 ", "w1 ", None]


async def test_a_model_that_hangs_says_nothing() -> None:
    telling = events(HANGS, 0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await anext(telling)
