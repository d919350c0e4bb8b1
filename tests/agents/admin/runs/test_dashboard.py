"""The charts above the list: what they count, and that they follow its filters."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents.admin.runs.aggregates import MAX_COLUMNS, RunCounts, build_spans, group_by_span
from agents.web.reason_labels import reason_look
from tests.agents.admin.factories import LIST, Owner, ended, running, saved, used
from tests.agents.admin.fixtures import auditor, owner
from tests.support.pages import Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> Owner:
    return owner()


def seen(query: str = "") -> Page:
    client = Client()
    client.force_login(auditor())
    answer = client.get(LIST + query, secure=True)
    assert answer.status_code == 200
    return Page(answer.content.decode())


def day(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}T12:00:00").replace(tzinfo=UTC)


# -- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "first", "number"),
    [
        (1, "1 Jan 2026", 1),
        (92, "1 Jan 2026", 92),
        (93, "week of 29 Dec 2025", 14),
        (600, "week of 29 Dec 2025", 87),
        (700, "January 2026", 24),
        (5_000, "2026", 14),
    ],
)
def test_long_ranges_have_wider_columns(days: int, first: str, number: int) -> None:
    begin = date(2026, 1, 1)
    found = build_spans(begin, begin + timedelta(days=days - 1))
    assert (found[0].name, len(found)) == (first, number)
    assert len(found) <= MAX_COLUMNS


@pytest.mark.parametrize(
    "ends",
    [("0001-01-01", "9999-12-31"), ("9999-12-30", "9999-12-31"), ("0001-01-01", "0001-01-03")],
)
def test_no_day_is_too_early_or_too_late(ends: tuple[str, str]) -> None:
    first, last = map(date.fromisoformat, ends)
    counts = RunCounts({first: Counter(completed=1), last: Counter(timeout=2)})
    columns = group_by_span(counts)
    assert sum((runs for _, runs in columns), Counter()) == Counter(completed=1, timeout=2)
    assert columns[-1][1]["timeout"] == 2


def test_every_run_is_in_one_column() -> None:
    begin = date(2024, 2, 29)
    days = {begin + timedelta(days=n): Counter(completed=1) for n in range(0, 900, 7)}
    columns = group_by_span(RunCounts(days))
    assert sum(runs.total() for _, runs in columns) == len(days)
    assert all(runs.total() for _, runs in columns[:-1])


# -- the page -------------------------------------------------------------------------------------


def test_runs_are_stacked_by_day_and_reason_with_a_table_behind(people: Owner) -> None:
    saved(
        *(ended(*people, at=day("2026-03-01")) for _ in range(3)),
        ended(*people, "timeout", at=day("2026-03-01")),
        ended(*people, "timeout", at=day("2026-03-03")),
    )
    page = seen()
    assert "5 runs, 5,000 tokens" in page.text()
    completed, timeout = reason_look("completed").pattern, reason_look("timeout").pattern
    assert [(at["fill"], at["d"]) for at in page.all("path") if "url" in at.get("fill", "")] == [
        (f"url(#plot-{completed})", "M11.1 25h0.8v75h-0.8z"),
        (f"url(#plot-{timeout})", "M11.1 0h0.8v25h-0.8zM13.1 75h0.8v25h-0.8z"),
    ]
    patterns = [at["id"] for at in page.all("pattern")]
    assert [name for name in patterns if name.startswith("reason-")] == [completed, timeout]
    bars = [at["fill"] for at in page.all("rect") if "line" in at.get("fill", "")]
    assert bars == [f"url(#line-{completed})", f"url(#line-{timeout})"]
    assert {f"line-{completed}", f"line-{timeout}", f"plot-{timeout}"} < set(patterns)
    assert "1 Mar 2026 4 Completed 3, Time limit 1" in page.text()
    assert "1 Mar 2026: Completed 3, Time limit 1" in page.text("title")
    assert "2 Mar 2026: no runs" in page.text("title")


def test_charts_follow_the_filter(people: Owner) -> None:
    saved(ended(*people, "timeout", model="large"), ended(*people, model="small"), running(*people))
    page = seen("?model=large")
    assert "1 run, 1,000 tokens" in page.text()
    assert "Completed" not in page.text("title")
    assert "1 run," in seen_again("?outcome=running").text()


def seen_again(query: str) -> Page:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return Page(client.get(LIST + query, secure=True).content.decode())


def test_shares_of_limits_are_distributions(people: Owner) -> None:
    percents = (5, 5, 55, 100, 180)
    saved(*(ended(*people, turns_percent=n, tokens_percent=1, time_percent=99) for n in percents))
    text = seen().text()
    assert "Iterations 55 % 180 % 2" in text
    assert "Iterations 2 0 0 0 0 1 0 0 0 2" in text
    assert "Tokens 1 % 1 % 0" in text
    assert "Time 99 % 99 % 5" in text


def test_slow_and_failing_tools_are_named_the_worst_first(people: Owner) -> None:
    one, two = saved(ended(*people), ended(*people, "timeout"))
    used(one, "search", calls=10, failed=1, total_ms=1_000, slowest_ms=300)
    used(two, "search", calls=10, failed=2, total_ms=3_000, slowest_ms=900)
    used(two, "fetch", calls=2, refused=1, total_ms=2_500, slowest_ms=2_500)
    text = seen().text()
    assert "fetch 1,250 ms 2,500 ms 2 search 200 ms 900 ms 20" in text
    assert "search 3 15.0 % 0" in text
    assert "search 100 ms 300 ms 10" in seen_again("?reason=completed").text()


def test_models_are_compared_by_tokens_and_reasons(people: Owner) -> None:
    saved(
        ended(*people, model="small", tokens=10),
        ended(*people, "timeout", model="large", tokens=5_000),
        ended(*people, model="large", tokens=3_000),
    )
    text = seen().text()
    assert "large 8,000 2 Completed 1 Time limit 1 2 reasons Completed 1, Time limit 1" in text
    assert text.index("large 8,000") < text.index("small 10")


def test_what_is_not_counted_in_full_is_said(
    people: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.admin.runs.dashboard.SAMPLE_SIZE", 2)
    monkeypatch.setattr("agents.admin.runs.dashboard.Dashboard.newest", 2)
    now = timezone.now()
    saved(*(ended(*people, model=f"m{n}", at=now - timedelta(days=n)) for n in range(3)))
    page = seen()
    assert "cover the newest 2 of these runs" in page.text()
    assert "m2" not in page.text("th")


def test_models_of_all_runs_are_counted_when_asked(
    people: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.admin.runs.dashboard.SAMPLE_SIZE", 2)
    now = timezone.now()
    runs = saved(
        *(
            ended(*people, model=f"m{n}", at=now - timedelta(days=n), turns_percent=10 * n)
            for n in range(3)
        )
    )
    used(runs[2], "search")
    page = seen("?charts=all&reason=completed")
    assert "m2" in page.text("th")
    assert "Shares of limits and tools cover the newest" in page.text()
    assert "search" not in page.text("th")


def test_charts_have_no_script_and_no_style_and_say_what_they_are(people: Owner) -> None:
    saved(ended(*people))
    page = seen()
    charts = [at for at in page.all("svg") if "preserveaspectratio" in at]
    assert len(charts) >= 4
    assert all(
        (at.get("role") == "img" and at["aria-label"]) or at.get("aria-hidden") for at in charts
    )
    assert not any("style" in at for _, at in page.elements)
