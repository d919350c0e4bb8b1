"""The sentences about what the limits mean, and how the last runs did."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.core.config import AgentConfig
from agents.models import Project
from settings_ui.limits_summary import MAX_RECENT_RUNS, describe_limits, get_recent_runs
from tests.agents.models.factories import ada as make_ada
from tests.agents.models.factories import engine, run_of


@pytest.fixture
def ada(db: None) -> User:
    return make_ada()


def ended(
    user: User, project: Project, turns: int, tokens: int, outcome: str = "completed"
) -> None:
    values = {"turns": turns, "tokens_in": tokens - 100, "tokens_out": 100}
    run_of(user, project, outcome=outcome, ended_at=timezone.now(), **values)


def test_the_limits_are_said_together() -> None:
    assert describe_limits(AgentConfig()) == (
        "About 11 iterations before the first warning, or 40,000 tokens; a run ends after "
        "15 iterations, 50,000 tokens or 120 seconds, whichever comes first."
    )


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        (1, "With one iteration there is no warning about iterations"),
        (2, "About 1 iteration before"),
    ],
)
def test_a_run_of_few_turns_is_said_properly(turns: int, words: str) -> None:
    assert describe_limits(AgentConfig(max_iterations=turns)).startswith(words)


def test_whoever_has_run_nothing_is_told_so(ada: User) -> None:
    run_of(ada, engine(ada))  # still going
    assert str(get_recent_runs(ada)) == "You have no finished runs yet to compare with."


def test_one_run_is_said_in_the_singular(ada: User) -> None:
    ended(ada, engine(ada), 1, 2_000, "limited")
    assert (
        str(get_recent_runs(ada))
        == "Your last run used 1 iteration and 2,000 tokens; it hit a limit."
    )


def test_only_the_newest_twenty_of_ones_own_count(ada: User) -> None:
    project, eve = engine(ada), User.objects.create_user("eve")
    ended(eve, project, 50, 200_000, "limited")
    ended(ada, project, 50, 200_000, "limited")
    for number in range(MAX_RECENT_RUNS):
        ended(ada, project, 7, 18_030, "limited" if number < 2 else "completed")
    assert str(get_recent_runs(ada)) == (
        "Your last 20 runs used 7 iterations and 18,000 tokens on average; 2 hit a limit."
    )


def test_no_limit_is_said_as_none(ada: User) -> None:
    project = engine(ada)
    for turns in (2, 3):
        ended(ada, project, turns, 1_000)
    assert str(get_recent_runs(ada)) == (
        "Your last 2 runs used 2.5 iterations and 1,000 tokens on average; none hit a limit."
    )
