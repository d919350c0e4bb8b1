"""Going on from runs that ended early."""

from typing import Any

import pytest

from agents.core.config import AgentConfig, ConfigError
from agents.models import AgentRun, UserAgentConfig
from chat.errors import InvalidAction, NotFoundForUser
from chat.models import Exchange
from chat.rendering.continue_offer import suggest_raised_limit
from chat.services.ask import RunOptions
from chat.services.continue_run import CONTINUE_QUESTION, continue_run
from tests.chat.factories import Talk, member, started

pytestmark = pytest.mark.django_db
LIMITED = {"outcome": "limited", "reason": "max_iterations"}


def limited(talk: Talk, **values: Any) -> Exchange:
    return talk.ask("A long one?", **{**LIMITED, **values})


@pytest.mark.parametrize("outcome", ["limited", "cancelled", "failed"])
def test_a_run_that_ended_early_goes_on_in_a_child_that_names_it(outcome: str) -> None:
    talk = Talk()
    early = limited(talk, outcome=outcome)
    asked = continue_run(talk.user, early.pk)
    assert asked.request.context_runs == (talk.first.run_id, early.run_id)
    child = started(asked)
    assert child.parent == early
    assert child.run.continued_from == early.run
    assert child.run.question == CONTINUE_QUESTION


def test_a_continuation_keeps_the_mode_of_its_run() -> None:
    talk = Talk()
    early = limited(talk, tree="quick")
    assert continue_run(talk.user, early.pk).request.tree == "quick"
    assert (
        continue_run(talk.user, early.pk, options=RunOptions(tree="default")).request.tree
        == "default"
    )


def test_a_complete_or_running_run_is_not_continued() -> None:
    talk = Talk()
    with pytest.raises(InvalidAction, match="is complete"):
        continue_run(talk.user, talk.first.pk)
    AgentRun.objects.update(outcome=None)
    with pytest.raises(InvalidAction, match="not ended yet"):
        continue_run(talk.user, talk.first.pk)


def test_nobody_continues_another_s_run() -> None:
    talk = Talk()
    early = limited(talk)
    bob, _ = member("bob", talk.project)
    with pytest.raises(NotFoundForUser):
        continue_run(bob, early.run_id)


def test_a_raised_limit_holds_for_this_continuation_only() -> None:
    talk = Talk()
    early = limited(talk)
    how = RunOptions(overrides={"max_iterations": 30})
    asked = continue_run(talk.user, early.pk, options=how)
    assert asked.request.config == AgentConfig(max_iterations=30)
    started(asked)
    assert UserAgentConfig.for_user(talk.user).max_iterations == 15


def test_a_raised_limit_is_saved_as_the_default_when_asked_and_when_the_run_starts() -> None:
    talk = Talk()
    early = limited(talk)
    how = RunOptions(overrides={"max_iterations": 30})
    asked = continue_run(talk.user, early.pk, options=how, save_as_default=True)
    before = UserAgentConfig.for_user(talk.user)
    assert before.max_iterations == 15
    child = started(asked)
    saved = UserAgentConfig.for_user(talk.user)
    assert child.parent == early
    assert (saved.max_iterations, saved.token_budget) == (30, 50_000)
    assert saved.version == before.version + 1
    assert saved.updated_at > before.updated_at


def test_saving_nothing_changes_nothing() -> None:
    talk = Talk()
    early = limited(talk)
    started(continue_run(talk.user, early.pk, save_as_default=True))
    assert UserAgentConfig.for_user(talk.user).version == 1


def test_a_limit_raised_out_of_bounds_is_refused() -> None:
    talk = Talk()
    early = limited(talk)
    with pytest.raises(ConfigError, match="1 to 50"):
        continue_run(talk.user, early.pk, options=RunOptions(overrides={"max_iterations": 51}))


@pytest.mark.parametrize(
    ("reason", "config", "proposed"),
    [
        ("max_iterations", {"max_iterations": 15}, {"max_iterations": 30}),
        ("max_iterations", {"max_iterations": 40}, {"max_iterations": 50}),
        ("max_iterations", {"max_iterations": 50}, {}),
        ("token_budget", {"token_budget": 2_000}, {"token_budget": 4_000}),
        ("timeout", {"timeout_seconds": 400}, {"timeout_seconds": 600}),
        ("no_progress", {}, {}),
        ("completed", {}, {}),
    ],
)
def test_twice_the_limit_is_proposed_within_its_bounds(
    reason: str, config: dict[str, int], proposed: dict[str, int]
) -> None:
    had = AgentConfig(**config).model_dump()
    assert suggest_raised_limit(reason, had, "default") == proposed
    assert suggest_raised_limit(reason, had, "uninstalled") == proposed


def test_no_limit_is_proposed_that_the_mode_would_not_allow() -> None:
    had = AgentConfig(max_iterations=5).model_dump()
    assert suggest_raised_limit("max_iterations", had, "quick") == {}
    assert suggest_raised_limit("token_budget", had, "quick") != {}
