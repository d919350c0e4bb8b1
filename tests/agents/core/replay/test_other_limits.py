"""Recorded runs under other limits, other stuck rules and other trees."""

from dataclasses import replace
from typing import Any

import pytest

from agents.core.config import AgentConfig, ConfigError
from agents.core.decisions.protocol import TREES
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.registry import NotRegistered
from agents.core.replay.engine import replay
from agents.core.stuck import StuckRules
from tests.agents.core.factories import limits
from tests.agents.core.recorded_runs import recorded
from tests.support.script import Call, call, calls, say

# -- fewer turns, more turns ----------------------------------------------------------------------

FIVE_TURNS = [*[call("look", page=n) for n in range(4)], say("So.")]


def test_with_fewer_turns_a_run_ends_earlier_and_its_last_answer_is_counted() -> None:
    verdict = replay(recorded(FIVE_TURNS), limits={"max_iterations": 3})
    assert (verdict.kind, verdict.reason, verdict.turn) == ("earlier", "max_iterations", 3)
    assert (verdict.old_reason, verdict.old_turn, verdict.turns_saved) == ("completed", 5, 2)
    assert 0 < verdict.tokens_saved < verdict.old_tokens
    assert verdict.was_cut


def test_a_last_turn_that_becomes_the_wrap_up_gives_another_reason() -> None:
    verdict = replay(recorded(FIVE_TURNS), limits={"max_iterations": 5})
    assert (verdict.kind, verdict.reason, verdict.turn) == ("other", "max_iterations", 5)
    assert (verdict.turns_saved, verdict.was_cut) == (0, True)


def test_what_a_stopped_run_would_have_done_next_is_not_known() -> None:
    stopped = recorded([*FIVE_TURNS[:3], say("Enough.")], limits(max_iterations=4))
    verdict = replay(stopped, limits={"max_iterations": 10})
    assert (verdict.kind, verdict.reason, verdict.turn) == ("later", "", None)
    assert "not recorded" in verdict.why_unknown
    assert (verdict.turns_saved, verdict.tokens_saved, verdict.was_cut) == (0, 0, False)


def test_a_wrap_up_that_was_made_may_have_another_reason() -> None:
    stuck = recorded([*[call("same")] * 3, say("Stuck.")])
    assert stuck.reason == "no_progress"
    patient = StuckRules(identical=0)
    verdict = replay(stuck, limits={"max_iterations": 4}, stuck=patient)
    assert (verdict.kind, verdict.reason, verdict.turn) == ("other", "max_iterations", 4)


def test_a_run_with_looser_limits_that_it_never_met_is_the_same() -> None:
    looser = {"max_iterations": 50, "token_budget": 200_000, "timeout_seconds": 600}
    assert replay(recorded(FIVE_TURNS), limits=looser).kind == "same"


# -- tokens and time ------------------------------------------------------------------------------


def test_a_smaller_budget_ends_a_run_earlier() -> None:
    recording = recorded([*[call("look", page=n) for n in range(12)], say("So.")])
    verdict = replay(recording, limits={"token_budget": 3_000})
    assert (verdict.kind, verdict.reason, verdict.was_cut) == ("earlier", "token_budget", True)


def test_an_answer_that_the_smaller_budget_would_have_cut_is_not_a_completed_run() -> None:
    recording = recorded([say("word " * 3_000)])
    verdict = replay(recording, limits={"token_budget": 2_000})
    assert (verdict.kind, verdict.reason) == ("other", "token_budget")


def test_where_a_small_budget_would_have_cut_results_nothing_is_claimed() -> None:
    recording = recorded([*[call("long", page=20 + n) for n in range(6)], say("So.")])
    verdict = replay(recording, limits={"token_budget": 6_000})
    assert (verdict.kind, verdict.reason) == ("unknown", "")
    assert "would have been cut" in verdict.why_unknown


def test_an_answer_that_the_budget_cut_would_have_gone_on_with_more() -> None:
    cut = recorded([say("word " * 5_000)], limits(token_budget=1_000))
    assert (cut.reason, cut.steps[-1].turn.finish_reason) == ("token_budget", "budget")
    assert replay(cut).kind == "same"
    assert replay(cut, limits={"token_budget": 50_000}).kind == "later"
    assert replay(cut, limits={"max_iterations": 9}).kind == "same"


def test_less_time_ends_a_run_earlier_and_leaves_room_for_an_answer() -> None:
    recording = recorded([*[call("slow", page=n) for n in range(5)], say("So.")])
    verdict = replay(recording, limits={"timeout_seconds": 11})
    assert (verdict.kind, verdict.reason, verdict.turn) == ("earlier", "timeout", 4)


def test_tools_that_were_cut_by_the_time_would_have_gone_on_with_more() -> None:
    cut = recorded([call("slow"), call("slow", page=2), say("So.")], limits(timeout_seconds=10))
    cut_in_tools = recorded(
        [call("slow", page=n) for n in range(3)], limits(timeout_seconds=10), then=say("So.")
    )
    assert (cut.reason, cut_in_tools.reason) == ("completed", "timeout")
    assert replay(cut_in_tools, limits={"timeout_seconds": 60}).kind == "later"


def test_an_answer_that_streams_past_the_deadline_is_cut_there() -> None:
    recording = recorded([call("look"), say("word " * 30, piece_delay=1)])
    verdict = replay(recording, limits={"timeout_seconds": 10})
    assert (verdict.kind, verdict.reason, verdict.was_cut) == ("other", "timeout", True)


# -- stuck rules ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (StuckRules(), ("same", "no_progress", 5)),
        (StuckRules(identical=2), ("earlier", "no_progress", 4)),
        (StuckRules(identical=0), ("later", "", None)),
        (StuckRules(identical=4), ("later", "", None)),
    ],
)
def test_other_stuck_rules_end_a_run_elsewhere(rules: StuckRules, found: Any) -> None:
    recording = recorded([call("look"), *[call("same")] * 3, say("Stuck.")])
    verdict = replay(recording, stuck=rules)
    assert (verdict.kind, verdict.reason, verdict.turn) == found


# -- trees ----------------------------------------------------------------------------------------


def test_another_tree_brings_its_own_limits() -> None:
    recording = recorded([*[call("look", page=n) for n in range(8)], say("So.")])
    verdict = replay(recording, tree="quick")
    assert (verdict.kind, verdict.reason, verdict.turn) == ("earlier", "max_iterations", 5)


def test_from_the_use_of_a_tool_that_the_tree_withholds_nothing_is_known() -> None:
    recording = recorded(
        [call("look"), call("delegate_librarian"), call("look", page=2), say("So")]
    )
    verdict = replay(recording, tree="quick")
    assert (verdict.kind, verdict.turn) == ("unknown", None)
    assert "delegate_librarian" in verdict.why_unknown
    assert replay(recording, tree="quick", limits={"max_iterations": 2}).reason == "max_iterations"


def test_a_call_that_a_tree_had_refused_would_have_been_made_under_another() -> None:
    recording = recorded([call("delegate_librarian"), say("So.")], tree="quick")
    assert replay(recording).kind == "same"
    verdict = replay(recording, tree="default")
    assert (verdict.kind, "was refused" in verdict.why_unknown) == ("unknown", True)


def test_a_tree_that_looks_at_results_is_shown_them() -> None:
    one, two = ([call("look", page=n) for n in range(count)] for count in (1, 2))
    assert replay(recorded([*two, say("So.")]), tree="two_sources").kind == "same"
    sent_back = replay(recorded([*one, say("So.")]), tree="two_sources")
    assert (sent_back.kind, sent_back.reason) == ("later", "")


def test_a_tree_that_looks_at_results_says_nothing_of_those_that_were_erased() -> None:
    recording = replace(recorded([call("look"), say("So.")]), has_content=False)
    assert replay(recording).kind == "same"
    verdict = replay(recording, tree="two_sources")
    assert (verdict.kind, "not kept" in verdict.why_unknown) == ("unknown", True)


def test_a_tree_that_is_gone_is_said_of_a_recording_and_refused_as_a_choice() -> None:
    recording = recorded(FIVE_TURNS)
    verdict = replay(replace(recording, tree="gone"))
    assert (verdict.kind, "'gone'" in verdict.why_unknown) == ("unknown", True)
    assert replay(replace(recording, tree="gone"), tree="default").kind == "same"
    with pytest.raises(NotRegistered):
        replay(recording, tree="gone")


def test_a_tree_that_tightens_anew_each_time_is_asked_only_for_what_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Half(DefaultDecisionTree):
        def get_config(self) -> AgentConfig:
            return limits(max_iterations=max(1, self.config.max_iterations // 2))

    monkeypatch.setitem(TREES._entries, "half", Half)
    recording = recorded(FIVE_TURNS, limits(max_iterations=12), tree="half")
    assert recording.config.max_iterations == 6
    assert replay(recording).kind == "same"
    assert replay(recording, limits={"max_iterations": 6}).turn == 3


def test_limits_out_of_bounds_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_iterations"):
        replay(recorded(FIVE_TURNS), limits={"max_iterations": 0})


@pytest.mark.parametrize(("cap", "kind"), [(2, "unknown"), (3, "same"), (9, "same")])
def test_another_cap_of_calls_matters_where_more_were_made(cap: int, kind: str) -> None:
    three = calls(*[Call("look", {"page": n}) for n in range(3)])
    recording = recorded([three, say("So.")])
    assert replay(recording, limits={"max_tool_calls_per_turn": cap}).kind == kind


def test_a_call_over_the_cap_would_have_been_made_under_a_higher_one() -> None:
    three = calls(*[Call("look", {"page": n}) for n in range(3)])
    recording = recorded([three, say("So.")], limits(max_tool_calls_per_turn=2))
    assert replay(recording).kind == "same"
    assert replay(recording, limits={"max_tool_calls_per_turn": 3}).kind == "unknown"
