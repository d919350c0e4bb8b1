"""Reading subscribers: what they may say, and what is told of those that are wrong."""

import math

import pytest

from agents.core.control.events import EVENT_TYPES
from agents.core.control.toml import InvalidToml
from agents.core.notify import read_subscriber
from tests.agents.core.notify.factories import subscribe, write

EXAMPLE = r"""
[subscriber]
id = "tool-failures"
name = "Failed calls"
description = "Tells you and the model when tool calls fail."
core = false

[events]
types = ["tool.call.failure", "tool.call.timeout"]
min_severity = "warning"
when = "result.tool_name != \"web_fetch\""

[batching]
window = 2
most = 10
key = "type:payload.tool"
again_after = 5

[output]
at = "after_tool"
priority = "high"
to = ["user", "model"]
system_type = "notification"
message = "{tool} failed: {error}"
hint = ""
columns = ["tool", "error"]
"""


def find_problems(text: str) -> list[str]:
    with pytest.raises(InvalidToml) as caught:
        read_subscriber(text)
    return list(map(str, caught.value.problems))


def test_the_example_of_the_docs_is_read() -> None:
    found = read_subscriber(EXAMPLE)
    assert (found.id, found.name, found.core) == ("tool-failures", "Failed calls", False)
    assert found.types == {"tool.call.failure", "tool.call.timeout"}
    assert (found.window, found.most, found.again_after) == (2, 10, 5)
    assert found.key == ("type", "payload.tool")
    assert (found.at, found.priority, found.columns) == ("after_tool", "high", ("tool", "error"))
    assert found.words.message is not None
    assert found.words.hint == found.words.message


def test_what_is_left_out_is_said_at_once_to_both() -> None:
    found = subscribe()
    assert (found.window, found.at, found.priority) == (0, "immediate", "normal")
    assert found.words.message is found.words.hint is not None


def test_a_wildcard_means_every_event_below_it() -> None:
    found = subscribe(types='["tool.call.*"]', message="{tool}")
    assert found.types == {name for name in EVENT_TYPES if name.startswith("tool.call.")}


def test_a_severity_leaves_out_milder_events() -> None:
    found = subscribe(
        types='["tool.*", "agent.*"]', events='min_severity = "error"', message="Failed."
    )
    assert found.types == {"tool.call.failure", "tool.call.timeout", "agent.error.streak"}


def test_once_a_run_is_a_word() -> None:
    assert subscribe(batching='again_after = "run"').again_after == math.inf


def test_what_is_critical_does_not_wait() -> None:
    assert subscribe(batching="window = 9", output='priority = "critical"').window == 0


def test_only_the_model_or_only_people_can_be_told() -> None:
    assert subscribe(output='to = ["model"]').words.message is None
    assert subscribe(output='to = ["user"]').words.hint is None


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            {"types": '["tool.call.failed"]'},
            "5:10: there is no event 'tool.call.failed'; did you mean 'tool.call.failure'?",
        ),
        ({"types": '["tool.cal.*"]'}, "5:10: there is no event 'tool.cal.*'"),
        ({"types": '["session.end"]'}, "5:10: nothing can be shown after session.end"),
        (
            {"types": '["notification.*"]'},
            "5:10: a dropped notification cannot cause another one",
        ),
        (
            {"events": 'min_severity = "critical"'},
            "6:16: none of these events has the severity critical or above",
        ),
        (
            {"events": "when = \"result.tool_nam == 'x'\""},
            "6:9: there is no 'tool_nam' in result; did you mean 'tool_name'?",
        ),
        (
            {"events": "when = \"event.payload.eror == ''\""},
            "6:9: there is no 'eror' in event.payload; did you mean 'error'?",
        ),
        ({"events": 'when = "1 + 1"'}, "6:9: expected true or false, not a number"),
        (
            {"message": "{tol} failed"},
            "10:12: there is no field 'tol'; did you mean 'tool'?",
        ),
        ({"message": "{tool.__class__}"}, "10:12: 'tool.__class__' is not the name of a field"),
        ({"message": "{tool:>999999}"}, "10:12: a field is written {tool}, or with one of"),
        ({"message": "{tool:,}"}, "10:12: tool is a text, and only numbers have a format"),
        ({"message": "a { b"}, "10:14: this bracket has no partner"),
        ({"message": ""}, "9:2: the key 'message' is missing"),
        (
            {"output": 'columns = ["tool", "eror"]'},
            "11:20: there is no field 'eror'; did you mean 'error'?",
        ),
        ({"batching": 'key = "tool"'}, "8:7: a key is made of type and payload.field; there is no"),
        ({"output": 'at = "later"'}, "11:6: 'later' is not one of immediate, turn_start"),
        ({"output": "to = []"}, "11:6: expected at least 1 items"),
        ({"output": 'system_type = "limit_reached"'}, '11:15: only "notification" can be used'),
        ({"id": "Tool Failures"}, "2:6: an id has lowercase letters, digits and hyphens"),
        ({"batching": "window = 601"}, "8:10: at most 600 can be used here"),
    ],
)
def test_each_mistake_is_told_with_its_place(lines: dict[str, str], problem: str) -> None:
    (found,) = find_problems(write(**lines))
    assert found.startswith(problem)


@pytest.mark.parametrize("text", ["a = [", 'id = "\0"', write() + "#" * 5_000])
def test_of_a_text_that_cannot_be_read_nothing_else_is_told(text: str) -> None:
    assert len(find_problems(text)) == 1


def test_a_sentence_has_only_fields_that_all_of_its_events_have() -> None:
    (found,) = find_problems(write(types='["tool.call.success", "tool.call.failure"]'))
    assert found.startswith("10:27: there is no field 'error'")


def test_nobody_but_the_shipped_ones_is_core_or_has_variants() -> None:
    text = write().replace("[events]", "core = true\n[events]")
    assert find_problems(text) == ["4:8: only shipped subscribers can be core"]
    text = f'{write()}[[variant]]\nname = "a"\nmessage = "b"'
    assert find_problems(text) == ["12:3: only shipped subscribers have variants"]


def test_all_mistakes_are_told_at_once() -> None:
    problems = find_problems(write(types='["a.b"]', events="whn = 1", message="{", id="A"))
    assert [problem.split(":")[0] for problem in problems] == ["2", "5", "6", "10"]
