"""The steps of rules: bounded for each, for a moment and for a run, and by level."""

from agents.core.rules.steps import MAX_EVENT_STEPS, MAX_RULE_STEPS, MAX_RUN_STEPS, StepBudget


def test_few_rules_may_take_all_that_one_may() -> None:
    budget = StepBudget()
    assert budget.allow("own", 1) == budget.allow("own", 2) == MAX_RULE_STEPS


def test_many_rules_share_a_moment_and_what_one_leaves_is_for_those_after_it() -> None:
    budget = StepBudget()
    assert budget.allow("own", 40) == MAX_EVENT_STEPS // 40
    for rules_left in range(40, 2, -1):
        budget.charge("own", 10)
        assert budget.allow("own", rules_left - 1) >= MAX_EVENT_STEPS // 40
    assert budget.allow("own", 1) == MAX_RULE_STEPS


def test_a_level_takes_nothing_from_another() -> None:
    budget = StepBudget()
    for _ in range(1_000):
        budget.begin_event()
        budget.charge("own", MAX_EVENT_STEPS)
    budget.begin_event()
    assert budget.allow("own", 1) == 0
    assert budget.allow("site", 1) == MAX_RULE_STEPS


def test_every_moment_has_steps_until_those_of_the_run_are_taken() -> None:
    budget = StepBudget()
    moments = 0
    while budget.allow("own", 1):
        budget.charge("own", MAX_EVENT_STEPS)
        budget.begin_event()
        moments += 1
    assert moments == MAX_RUN_STEPS // MAX_EVENT_STEPS
    assert budget.taken == MAX_RUN_STEPS
