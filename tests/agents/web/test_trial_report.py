"""Trials of a rule, summed up for pages."""

from agents.core.config import AgentConfig
from agents.core.control.facts import RunBackground
from agents.core.rules.dry_run import RuleTrial, try_rule
from agents.core.rules.reader import read_rule
from agents.web.trial_report import MAX_LISTED, build_report
from tests.agents.core.recorded_runs import chunks_of
from tests.support.script import call, say

RULE = read_rule(
    '[rule]\nid = "mine"\ntrigger = "on_turn_end"\n[condition]\n'
    'expression = "history.calls.look >= 2"\n[[action]]\ntype = "stop"\nmessage = "Enough."'
)


def attempt(calls: int, run_id: str) -> RuleTrial:
    steps = [*(call("look", page=number) for number in range(calls)), say("Found.")]
    chunks = chunks_of(steps, AgentConfig())
    background = RunBackground(
        config=AgentConfig(), user_id="1", project_id="2", writes=lambda _: False
    )
    return try_rule(RULE, chunks, background, run_id=run_id, outcome="completed")


def test_a_report_tells_where_a_rule_fires_and_what_it_cuts() -> None:
    report = build_report([attempt(1, "first"), attempt(4, "second")])
    (fired,) = report.fired
    assert (fired.id, fired.outcome, fired.was_cut) == ("second", "completed", True)
    assert fired.firings == [(2, "stop: Enough.")]
    assert report.done == [("stop: Enough.", 1)]
    assert report.why_not == [("history.calls.look >= 2", 1)]
    assert len(report.unknown) == 1
    assert report.not_listed == 0


def test_the_newest_runs_are_listed_and_the_others_counted() -> None:
    trial = attempt(4, "one")
    runs = [RuleTrial(run_id=str(n), firings=trial.firings) for n in range(MAX_LISTED + 5)]
    report = build_report(runs)
    assert report.fired[0].id == str(MAX_LISTED + 4)
    assert (len(report.fired), report.not_listed) == (MAX_LISTED, 5)
    assert report.fired[0].outcome == "running"
