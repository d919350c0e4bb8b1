"""What subscribers would say, and which of them a run's chunks show to have spoken."""

import pytest

from agents.core.notify import Subscriber
from agents.core.notify.preview import build_preview, name_speakers
from agents.core.notify.shipped import LOOP, SHIPPED
from tests.agents.core.factories import limits, looking, play, working_until_told
from tests.agents.core.notify.factories import subscribe
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, fails, returns
from tests.support.virtual import virtual_time


@pytest.mark.parametrize("one", [*LOOP.values(), *SHIPPED], ids=lambda one: str(one.id))
def test_every_shipped_one_can_be_shown(one: Subscriber) -> None:
    shown = build_preview(one)
    assert bool(shown.message) == (one.words.message is not None)
    assert bool(shown.hint) == (one.words.hint is not None)
    assert "{" not in shown.message + shown.hint


def test_the_numbers_of_an_example_agree() -> None:
    shown = build_preview(LOOP["tool-limit"]).message
    assert "asked for 12 tool calls in one iteration (limit 10); 2 were not run" in shown


def test_several_events_are_shown_as_a_table() -> None:
    shown = build_preview(subscribe(output='columns = ["tool"]'))
    assert shown.message == "`vault_read` failed: `There is no note Pump.md.`"
    assert shown.hint_of_two == "Failed calls[2]{tool}:\n`vault_read`\n`vault_read`"


def test_of_events_that_rules_emit_no_field_is_known() -> None:
    assert build_preview(subscribe(types='["x.low"]', message="Low: {level}")).message == "Low: "


@virtual_time
async def test_a_run_shows_who_has_spoken() -> None:
    greedy = [
        calls(Call("fail", {"n": 1}), Call("fail", {"n": 2})),
        call("fail", n=3),
        call("fail", n=4),
        say("So."),
    ]
    chunks = await play(
        ScriptedModel(greedy),
        FakeTools({"fail": fails("It broke.")}),
        config=limits(max_tool_calls_per_turn=1),
        subscribers=SHIPPED,
    )
    again = ScriptedModel([], then=working_until_told)
    chunks += await play(again, FakeTools({"look": returns("same")}), config=limits())
    chunks += await play(ScriptedModel([], then=working_until_told), looking())
    spoke = {name for chunk in chunks for name in name_speakers(chunk)}
    assert {"tool-failures", "tool-limit", "repeated", "loop", "reached", "iterations"} <= spoke
