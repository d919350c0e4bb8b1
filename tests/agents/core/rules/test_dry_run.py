"""What a rule would have done in runs that are over, and where that is not known."""

from typing import Any

from agents.core.chunks import Done, OracleStreamChunk
from agents.core.config import AgentConfig
from agents.core.control.facts import RunBackground
from agents.core.rules.dry_run import (
    ASKED_AGAIN,
    STOPPED,
    RuleTrial,
    summarize_trials,
    try_rule,
)
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from tests.agents.core.recorded_runs import chunks_of
from tests.support.script import Call, call, calls, say

LOOKS = [*[call("look", page=n) for n in range(4)], say("So.")]
"""Four turns with a call, and an answer."""


def write(action: str, *, head: str = 'trigger = "on_turn_end"', condition: str = "true") -> Rule:
    return read_rule(
        f'[rule]\nid = "mine"\n{head}\n[condition]\nexpression = "{condition}"\n'
        f"[[action]]\n{action}"
    )


STOP = 'type = "stop"\nmessage = "Enough."'
LOG = 'type = "log"\nmessage = "Noted."'


def attempt(
    rule: Rule,
    chunks: list[OracleStreamChunk] | None = None,
    state: dict[str, Any] | None = None,
) -> RuleTrial:
    chunks = chunks or chunks_of(LOOKS, AgentConfig())
    done = chunks[-1]
    assert isinstance(done, Done)
    return try_rule(rule, chunks, RunBackground(), state, run_id="run", outcome=done.outcome)


def turns(trial: RuleTrial) -> list[int]:
    return [firing.turn for firing in trial.firings]


def test_a_rule_that_only_tells_is_known_to_the_end() -> None:
    trial = attempt(write(LOG, condition="turn.number >= 3"))
    assert turns(trial) == [3, 4, 5]
    assert (trial.stopped_at, trial.why_unknown, trial.why_not) == (None, "", None)


def test_a_rule_is_tried_whatever_its_mode() -> None:
    rule = write(LOG, head='trigger = "on_turn_end"\nmode = "off"')
    assert turns(attempt(rule)) == [1, 2, 3, 4, 5]


def test_a_rule_that_stops_ends_the_run_after_its_turn_and_what_follows_is_not_known() -> None:
    trial = attempt(write(STOP, condition="history.calls.look >= 2"))
    assert (turns(trial), trial.stopped_at) == ([2], 2)
    assert (trial.why_unknown, trial.is_cut) == (STOPPED, True)


def test_a_stop_in_the_middle_of_a_turn_waits_for_its_end() -> None:
    steps = [calls(Call("look", {"page": 1}), Call("look", {"page": 2})), call("look"), say("So.")]
    rule = write(STOP, head='trigger = "on_tool_complete"')
    trial = attempt(rule, chunks_of(steps, AgentConfig()))
    assert (turns(trial), trial.stopped_at) == ([1], 1)


def test_a_stop_where_the_run_ended_anyway_ends_nothing_early() -> None:
    trial = attempt(write(STOP, condition="turn.number >= 5"))
    assert (turns(trial), trial.stopped_at, trial.why_unknown) == ([5], None, "")
    ending = attempt(write(STOP, head='trigger = "on_session_end"'))
    assert (len(ending.firings), ending.stopped_at, ending.why_unknown) == (1, None, "")


def test_a_stop_before_a_last_answer_ends_nothing_early() -> None:
    config = AgentConfig.build({"max_iterations": 3})
    chunks = chunks_of([call("look", page=n) for n in range(2)], config, then=say("All."))
    trial = attempt(write(STOP, condition="turn.number == 2"), chunks)
    assert (turns(trial), trial.stopped_at) == ([2], None)


def test_what_follows_the_use_of_a_withheld_tool_is_not_known() -> None:
    withhold = 'type = "withhold"\ntool = "look"'
    trial = attempt(write(withhold, condition="turn.number == 2"))
    assert trial.why_unknown == "It used look, which the rule withholds."
    assert attempt(write(withhold, condition="turn.number == 4")).why_unknown == ""


def test_what_follows_an_answer_that_was_sent_back_is_not_known() -> None:
    again = write('type = "ask_again"\nmessage = "Why?"', condition="turn.answered")
    trial = attempt(again)
    assert (turns(trial), trial.why_unknown) == ([5], ASKED_AGAIN)


def test_a_rule_that_did_not_fire_says_why() -> None:
    trial = attempt(write(LOG, condition="turn.number > 0 and history.total_failures >= 1"))
    assert trial.why_not is not None
    assert str(trial.why_not.part) == "history.total_failures >= 1 did not hold: 0 and 1"


def test_what_a_rule_remembers_goes_on_from_run_to_run() -> None:
    action = 'type = "set_state"\nkey = "runs"\nexpression = "(state.runs or 0) + 1"'
    rule = write(action, head='trigger = "on_session_end"')
    state: dict[str, Any] = {}
    for _ in range(3):
        attempt(rule, state=state)
    assert state == {"runs": 3}


def test_trials_are_summed_up() -> None:
    rule = write(STOP, condition="history.calls.look >= 2")
    short = chunks_of([call("look", page=1), say("So.")], AgentConfig())
    trials = [attempt(rule), attempt(rule), attempt(rule, short)]
    found = summarize_trials(trials)
    assert (found.runs, found.fired, found.firings) == (3, 2, 2)
    assert (found.stopped, found.cut, found.failed) == (2, 2, 0)
    assert (found.turns, found.words) == ({2: 2}, {"stop: Enough.": 2})
    assert found.why_not == {"history.calls.look >= 2": 1}
    assert found.unknown == {STOPPED: 2}


def test_rules_that_fail_are_counted_with_their_problem() -> None:
    found = summarize_trials([attempt(write(LOG, condition="state.missing + 1 > 1"))])
    assert (found.failed, found.fired) == (1, 0)
    assert found.problems == {"+ cannot be used on nothing and a number": 1}
