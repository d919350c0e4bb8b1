"""What one's own runs took, by day and ending."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.core.config import AgentConfig
from agents.core.reasons import REASONS
from agents.ledger.queries import update_totals
from agents.models import AgentRun
from agents.web.reason_labels import reason_look
from settings_ui.views.usage import DAYS, get_daily_usage, get_limit_shares
from tests.agents.models.factories import ada as make_ada
from tests.agents.models.factories import engine, run_of
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    user = make_ada()
    engine(user)
    return user


def ended(user: User, reason: str = "completed", days: int = 0, **more: Any) -> AgentRun:
    began = timezone.now() - timedelta(days=days)
    outcome = REASONS.get(reason).outcome.value if reason in REASONS else "limited"
    usual = {"config": AgentConfig().model_dump(), "turns": 3, "tokens_in": 900, "tokens_out": 100}
    project = User.objects.get(username="ada").projects.get()
    values = {**usual, "outcome": outcome, "reason": reason, **more}
    ended_at = began + timedelta(seconds=12)
    run = run_of(user, project, started_at=began, day=began.date(), ended_at=ended_at, **values)
    if "max_iterations" in run.config:
        update_totals(run)
        run.save()
    return run


def seen(user: User) -> Page:
    html = browser(user).get("/usage/", secure=True).content.decode()
    # A bar has a title of its own, which browsers show beside the pointer.
    assert [what for what in problems(html) if not what.endswith("<title>")] == []
    return Page(html)


def test_whoever_asked_nothing_is_told_so(ada: User) -> None:
    assert "You have not asked anything in the last 30 days." in seen(ada).text()


def test_runs_are_counted_by_day_and_ending_with_their_tokens(ada: User) -> None:
    for reason in ("completed", "completed", "max_iterations"):
        ended(ada, reason, days=2)
    ended(ada, "timeout")
    text = seen(ada).text()
    assert "4 runs, 4,000 tokens; 2 ended at a limit." in text
    assert "3 Completed 2, Iteration limit 1 2,700 300" in text
    days = get_daily_usage(ada)
    assert len(days) == DAYS
    assert [day.total for day in days if day.total] == [3, 1]


def test_bars_fill_the_chart_and_carry_the_pattern_of_their_ending(ada: User) -> None:
    for reason in ("completed", "max_iterations"):
        ended(ada, reason)
    bars = [at for at in seen(ada).all("rect") if "x" in at]
    first = [at for at in bars if at["x"] == "29.1"][:2]
    completed, limit = (reason_look(code).pattern for code in ("completed", "max_iterations"))
    assert [(at["fill"], at["y"], at["height"]) for at in first] == [
        (f"url(#plot-{completed})", "50", "50"),
        (f"url(#plot-{limit})", "0", "50"),
    ]


def test_old_runs_and_those_of_others_do_not_count(ada: User) -> None:
    ended(ada, days=DAYS + 1)
    ended(User.objects.create_user("eve"))
    assert "You have not asked anything" in seen(ada).text()


def test_a_run_that_goes_on_counts_as_running(ada: User) -> None:
    run_of(ada, ada.projects.get())
    assert "Running 1" in seen(ada).text()


def test_shares_are_of_the_limits_that_each_run_had(ada: User) -> None:
    ended(ada, turns=5, config=AgentConfig(max_iterations=5).model_dump())
    ended(ada, turns=5, config=AgentConfig(max_iterations=50).model_dump())
    turns, tokens, time = get_limit_shares(ada)
    assert turns.percents == {10: 1, 100: 1}
    assert (turns.max_percent, turns.runs_near_limit) == (100, 1)
    assert tokens.percents == {2: 2}
    assert time.median_percent == 10
    assert "Iterations 55 % 100 % 1 Tokens 2 % 2 % 0" in seen(ada).text()


def test_a_run_without_such_a_limit_has_no_share_of_it(ada: User) -> None:
    ended(ada, config={})
    assert get_limit_shares(ada) == []
    assert "1 run," in seen(ada).text()


def test_a_reason_that_nobody_knows_any_more_is_named_by_its_code(ada: User) -> None:
    ended(ada, "two_sources_gone")
    assert "two_sources_gone 1" in seen(ada).text()
