"""Rules as TOML: what they say, and every mistake with its place."""

import random
import re

import pytest

from agents.core.control.events import EVENT_TYPES, matches_event
from agents.core.control.toml import InvalidToml
from agents.core.rules.reader import ACTION_KEYS, RULE_KEYS, read_rule
from agents.core.rules.rule import (
    AskAgain,
    EmitEvent,
    Hold,
    Log,
    Notify,
    Rule,
    SetState,
    StopRun,
    Withhold,
)
from agents.core.rules.vocabulary import HEARD_EVENTS, HOOKS, listens_to
from tests.support.timing import measure_multiple

RULE = """\
[rule]
id = "same-tool-fails"
name = "One tool keeps failing"
description = "After three failures of one tool, suggest another way."
trigger = "on_tool_failure"
priority = 200
once = true
mode = "shadow"

[condition]
expression = "history.failures[result.tool_name] >= 3"

[[action]]
type = "notify"
message = "{tool} has failed three times."
"""


def write(*, head: str = 'trigger = "on_turn_end"', condition: str = "", action: str = "") -> str:
    """A rule of these parts."""
    looks = f'[condition]\nexpression = """{condition}"""\n' if condition else ""
    return f'[rule]\nid = "mine"\n{head}\n{looks}[[action]]\n{action or _STOP}\n'


_STOP = 'type = "stop"\nmessage = "Enough."'


def refuse(text: str) -> list[str]:
    with pytest.raises(InvalidToml) as caught:
        read_rule(text, tools=["vault_read", "vault_search"])
    return [str(problem) for problem in caught.value.problems]


def act(text: str) -> object:
    hook = "on_tool_call" if '"hold"' in text else "on_turn_end"
    head = f'trigger = "{hook}"'
    (action,) = read_rule(write(head=head, action=text)).actions
    return action


# -- what a rule says -----------------------------------------------------------------------------


def test_a_rule_says_when_it_looks_what_must_hold_and_what_it_does() -> None:
    rule = read_rule(RULE)
    assert (rule.id, rule.name, rule.mode) == (
        "same-tool-fails",
        "One tool keeps failing",
        "shadow",
    )
    assert (rule.priority, rule.once) == (200, True)
    assert rule.events == ("tool.call.failure", "tool.call.timeout")
    assert rule.condition is not None
    (action,) = rule.actions
    assert isinstance(action, Notify)
    assert (action.to, action.keep) == (("user", "model"), False)
    assert action.message.render({"tool": "look"}) == "look has failed three times."


def test_what_is_left_out_has_its_default() -> None:
    rule = read_rule(write())
    assert (rule.name, rule.priority, rule.once, rule.mode) == ("mine", 100, False, "on")
    assert rule.condition is None


def test_every_hook_has_its_events() -> None:
    for hook, events in HOOKS.items():
        assert read_rule(write(head=f'trigger = "{hook}"')).events == events


def test_a_rule_may_name_events_instead_of_a_hook() -> None:
    rule = read_rule(write(head='on = ["tool.call.*", "agent.loop.detected", "x.mine"]'))
    assert rule.events == ("tool.call.*", "agent.loop.detected", "x.mine")


@pytest.mark.parametrize(
    ("pattern", "events"),
    [
        ("*.failure", {"tool.call.failure"}),
        (
            "budget.*.warning",
            {f"budget.{name}.warning" for name in ("iteration", "token", "timeout")},
        ),
        ("turn.*", {"turn.start", "turn.end"}),
        ("tool.call.f*", {"tool.call.failure"}),
        ("*", set(HEARD_EVENTS)),
    ],
)
def test_a_star_stands_for_anything_in_the_name_of_an_event(pattern: str, events: set[str]) -> None:
    rule = read_rule(write(head=f'on = ["{pattern}"]'))
    assert {name for name in EVENT_TYPES if listens_to(rule.events, name)} == events


def test_a_star_stands_for_anything_in_the_name_of_an_own_event_too() -> None:
    patterns = read_rule(write(head='on = ["x.*.low", "turn.*"]')).events
    assert listens_to(patterns, "x.stock.low")
    assert not listens_to(patterns, "x.low")
    assert not listens_to(patterns, "x.stock.high")


def test_a_pattern_that_fits_no_event_is_refused() -> None:
    with pytest.raises(InvalidToml, match=r"there is no event 'budget\.\*\.warn'"):
        read_rule(write(head='on = ["budget.*.warn"]'))


def test_no_pattern_takes_long() -> None:
    """Each part is looked for once: twice the stars are not a thousand times the work."""
    assert not matches_event("*a" * 2_000, "a" * 1_999)
    assert matches_event("*a" * 1_999, "a" * 1_999)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('type = "notify"\nmessage = "Hm."\nto = ["user"]\nkeep = true', Notify),
        ('type = "log"\nmessage = "Hm."', Log),
        ('type = "set_state"\nkey = "count"\nexpression = "(state.count or 0) + 1"', SetState),
        ('type = "set_state"\nkey = "seen"\nvalue = ["a", 1, true]', SetState),
        ('type = "emit_event"\nevent = "x.enough"\npayload = {by = "me"}', EmitEvent),
        ('type = "stop"\nmessage = "Enough."', StopRun),
        ('type = "withhold"\ntool = "vault_search"', Withhold),
        ('type = "ask_again"\nmessage = "Name a source."', AskAgain),
        ('type = "hold"\nmessage = "May it?"', Hold),
    ],
)
def test_every_action_is_read(text: str, kind: type) -> None:
    assert isinstance(act(text), kind)


def test_every_action_is_tried_above() -> None:
    marks = test_every_action_is_read.pytestmark  # type: ignore[attr-defined]
    texts = [text for text, _ in marks[0].args[1]]
    assert {re.findall(r'type = "(\w+)"', text)[0] for text in texts} == set(ACTION_KEYS)


# -- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (write(head='trigger = "on_turn_ende"'), "3:11: 'on_turn_ende' is not one of"),
        (write(head='triger = "on_turn_end"'), "3:1: there is no key 'triger' in [rule]; did you"),
        (write(head='on = ["turn.ends"]'), "3:7: there is no event 'turn.ends'; did you mean"),
        (
            write(head='on = ["turn.end", "tool.cal.*"]'),
            "3:19: there is no event 'tool.cal.*'; did",
        ),
        (write(head='on = ["rule.fired"]'), "3:7: rules cannot listen to rules"),
        (write(head=""), "1:2: a rule has a trigger, or the events that it is on"),
        (write(head='trigger = "on_turn_end"\non = ["turn.end"]'), "a rule has a trigger, or"),
        (write(head='trigger = "on_turn_end"\npriority = 1001'), "4:12: at most 1,000"),
        (write(head='trigger = "on_turn_end"\npriority = "high"'), "4:12: expected a number"),
        (write(head='trigger = "on_turn_end"\nmode = "maybe"'), "4:8: 'maybe' is not one of on,"),
        (write(head='trigger = "on_turn_end"\nonce = 1'), "4:8: expected true or false"),
        (write(action='type = "stopp"\nmessage = "x"'), "5:8: 'stopp' is not one of notify, log"),
        (write(action='type = "halt"'), "5:8: 'halt' is not one of"),
        (write(action='type = "log"'), "4:3: log needs the key 'message'"),
        (write(action='type = "log"\nmessage = "x"\ntool = "a"'), "7:1: log has no key 'tool': it"),
        (write(action='type = "log"\nmessage = "{tol}"'), "6:12: there is no field 'tol'"),
        (write(action='type = "withhold"\ntool = "vault_serch"'), "did you mean 'vault_search'?"),
        (write(action='type = "set_state"\nkey = "a"'), "4:3: set_state has a value, or an"),
        (
            write(action='type = "set_state"\nkey = "a"\nvalue = [2026-11-17]'),
            "7:9: such a value cannot be remembered",
        ),
        (write(action='type = "emit_event"\nevent = "turn.end"'), "6:9: the names of own events"),
        (write(action='type = "set_state"\nkey = "a"\nexpression = "1 +"'), "7:15: this is not an"),
        (write(condition="turn.numbr > 1"), "there is no 'numbr' in turn; did you mean 'number'?"),
        (write(condition="tern.number > 1"), "5:17: there is no 'tern'; did you mean 'turn'?"),
        (write(condition="turn.number > 'a'"), "5:17: a number and a text have no order"),
        (write(condition="turn.number"), "5:17: expected true or false, not a number"),
        (write(condition="sise(history.tools) > 1"), "5:17: there is no function 'sise'"),
        (
            write(condition="result.size > 1"),
            "there is no 'size' in result where no call has ended",
        ),
        (write(condition="event.payload.tokns > 1"), "there is no 'tokns' in event.payload; did"),
        (write(condition="user.settings.max_iteration > 1"), "did you mean 'max_iterations'?"),
        ("[rule]\nid = 'A B'\ntrigger = 'on_turn_end'\n[[action]]\n" + _STOP, "2:6: an id is"),
        (
            "[rule]\ntrigger = 'on_turn_end'\n[[action]]\n" + _STOP,
            "the key 'id' is missing in [rule]",
        ),
        ("[rule]\nid = 'a'\ntrigger = 'on_turn_end'", "the table [[action]] is missing"),
        (write() + "[extra]\na = 1", "there is no table 'extra'"),
        ("[rule\n", "1:6: this is not TOML"),
        ("", "the table [rule] is missing"),
        ("x" * 5_000, "1:1: this is longer than 4,096 characters"),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_the_nearest_name(text: str, problem: str) -> None:
    found = refuse(text)
    assert any(problem in one for one in found), found
    assert all(re.match(r"\d+:\d+: ", one) for one in found)


def test_an_answer_is_sent_back_only_at_the_end_of_a_turn() -> None:
    text = write(head='trigger = "on_turn_start"', action='type = "ask_again"\nmessage = "Why?"')
    assert refuse(text) == ["5:8: ask_again answers an answer: it needs the trigger on_turn_end"]


def test_all_mistakes_are_told_at_once() -> None:
    text = write(
        head='trigger = "on_turn_end"\nprio = 1',
        condition="tern.number > 1 and turn.numbr > 1",
        action='type = "stop"\nmessage = "{a} {b}"',
    )
    assert len(refuse(text)) == 5


def test_a_trigger_that_is_none_spoils_nothing_else() -> None:
    text = RULE.replace("on_tool_failure", "on_tool_failed")
    assert [problem.partition(": ")[0] for problem in refuse(text)] == ["5:11"]


def test_a_number_of_megabytes_is_refused_before_it_is_read() -> None:
    text, most = "[rule]\n" * 1_500_000, 50.0
    multiple = measure_multiple(lambda: refuse(text), lambda: read_rule(RULE), enough=most)
    assert multiple <= most


def test_texts_that_are_nearly_rules_are_read_or_refused_with_places() -> None:
    rng = random.Random(18)
    pieces = [*RULE.split(), *"[]{}\"'=.\n", "[[action]]", *RULE_KEYS, *HOOKS, "1e999", "inf"]
    for _ in range(1_500):
        at = rng.randrange(len(RULE))
        text = RULE[:at] + rng.choice(pieces) + RULE[at + rng.randrange(12) :]
        try:
            assert isinstance(read_rule(text), Rule)
        except InvalidToml as error:
            lines = text.split("\n")
            for problem in error.problems:
                assert 1 <= problem.line <= len(lines), (text, problem)
                assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1, (text, problem)


def test_a_rule_knows_whether_it_looks_at_what_can_be_erased() -> None:
    assert not read_rule(write(condition="history.total_tool_calls > 3")).reads_content
    assert read_rule(write(condition="len(history.sources) > 3")).reads_content
    assert not read_rule(RULE).reads_content
    assert not read_rule(write(condition="sum(n for n in [1, 2]) > 1")).reads_content
