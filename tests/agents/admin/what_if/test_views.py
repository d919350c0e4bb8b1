"""What if the limits had been others: recorded runs, played again on a page."""

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.audit.erasure import erase
from agents.core.config import LIMITS
from agents.models import AgentRun, StoredBehaviour
from tests.agents.admin.fixtures import LIST, SECRET, auditor, browser, made, person
from tests.support.pages import Page, problems
from tests.support.script import call, say

pytestmark = pytest.mark.django_db(transaction=True)
REPLAY = f"{LIST}replay/"


@pytest.fixture
def otto(db: None) -> User:
    return auditor()


def long_run() -> AgentRun:
    """Eight turns, completed."""
    return made(*(call("look", page=n) for n in range(7)), say("At last."))


def asked(viewer: User, status: int = 200, **query: Any) -> Page:
    answer = browser(viewer).get(REPLAY, query)
    assert answer.status_code == status, answer.content[:300]
    return Page(answer.content.decode())


def test_the_form_has_every_limit_with_its_bounds(otto: User) -> None:
    page = asked(otto)
    names = {at.get("name") for at in page.all("input")}
    assert set(LIMITS) <= names
    for limit in LIMITS.values():
        assert f"{limit.minimum:,} to {limit.maximum:,}" in page.text()


def test_the_page_is_well_formed_with_and_without_a_result(otto: User) -> None:
    long_run()
    for query in ({}, {"replay": "1", "max_iterations": "3"}, {"max_iterations": "x"}):
        html = browser(otto).get(REPLAY, query).content.decode()
        assert problems(html.replace("<!DOCTYPE", "<!doctype", 1)) == []


def test_nothing_changed_is_as_recorded(otto: User) -> None:
    long_run()
    text = asked(otto, replay="1").text()
    assert "As recorded 1" in text
    assert "0 iterations of 8" in text


def test_a_tighter_limit_cuts_a_completed_run_and_links_it(otto: User) -> None:
    run = long_run()
    page = asked(otto, replay="1", max_iterations="4")
    assert "Earlier 1" in page.text()
    assert "4 iterations of 8" in page.text()
    assert "1 completed run would have been cut" in page.text()
    assert "Completed Iteration limit 1" in page.text()
    assert f"{LIST}{run.pk}/change/" in [at.get("href") for at in page.all("a")]


def test_a_run_that_was_stopped_cannot_show_what_it_would_have_done(otto: User) -> None:
    made(*(call("look", page=n) for n in range(4)), say("That is all."), max_iterations=5)
    text = asked(otto, replay="1", max_iterations="20").text()
    assert "Later 1" in text
    assert "was not recorded" in text


def test_another_tree_and_other_stuck_rules_are_played(otto: User) -> None:
    long_run()
    made(*(call("look", page=1) for _ in range(3)), say("Hm."))
    text = asked(otto, replay="1", with_tree="quick").text()
    assert "Earlier 1" in text or "Unknown 1" in text or "Earlier 2" in text
    assert "No progress" in asked(otto, replay="1", identical="2", known="0", writing="5").text()


def test_one_run_is_played_alone(otto: User) -> None:
    run, _ = long_run(), long_run()
    assert "Earlier 1" in asked(otto, replay="1", run=run.pk, max_iterations="4").text()
    asked(otto, 404, run=uuid.uuid4())
    asked(otto, 404, run="nonsense")


def test_the_lists_filter_chooses_the_runs_and_stays_in_the_form(otto: User) -> None:
    long_run()
    made(say("Yes."))
    made(*(call("look", page=n) for n in range(4)), say("So."), max_iterations=5)
    page = asked(otto, reason="max_iterations", replay="1", max_iterations="3")
    assert "For 1 run with reason" in page.text()
    hidden = {at["name"]: at["value"] for at in page.all("input") if at.get("type") == "hidden"}
    assert hidden["reason"] == "max_iterations"
    assert "For 3 runs" in asked(otto).text()


HOSTILE = ["-1", "0", "51", "1.5", "1e9", "x", "9" * 10_000, "NaN", "\x00", "１２", "<b>", "[1]"]  # noqa: RUF001  # wide on purpose


@pytest.mark.parametrize("typed", HOSTILE)
def test_a_bad_value_is_refused_beside_its_field(otto: User, typed: str) -> None:
    page = asked(otto, 422, replay="1", max_iterations=typed, token_budget="2,000")
    (field,) = [at for at in page.all("input") if at.get("name") == "max_iterations"]
    assert field["aria-invalid"] == "true"
    assert field["value"] == typed.strip()[:200]
    assert "Must be a whole number from 1 to 50." in page.text()
    assert "What would have happened" not in page.text()
    (fine,) = [at for at in page.all("input") if at.get("name") == "token_budget"]
    assert "aria-invalid" not in fine


@pytest.mark.parametrize(
    "query",
    [
        {"with_tree": "no-such"},
        {"identical": "1"},
        {"known": "51"},
        {"writing": "x"},
        {"no_such_filter": "1"},
        {"when": "the day after"},
        {"user": "x' OR 1=1"},
        {"question__contains": "secret"},
    ],
)
def test_what_is_not_known_is_refused(otto: User, query: dict[str, str]) -> None:
    long_run()
    page = asked(otto, 422, replay="1", **query)
    assert "What would have happened" not in page.text()


def test_nothing_that_was_said_is_shown(otto: User) -> None:
    long_run()
    assert SECRET not in asked(otto, replay="1", max_iterations="2").text()


@pytest.mark.parametrize("kind", ["user", "staff"])
def test_only_those_who_may_see_runs_can_play_them(kind: str) -> None:
    user = person(kind, is_staff=kind == "staff")
    assert browser(user).get(REPLAY).status_code in (302, 403)


def test_it_only_reads(otto: User) -> None:
    assert browser(otto).post(REPLAY, {"max_iterations": "4"}).status_code == 405


def test_no_runs_are_no_trouble(otto: User) -> None:
    assert "For 0 runs" in asked(otto, replay="1", max_iterations="4").text()


# -- a rule ---------------------------------------------------------------------------------------

RULE = """[rule]
id = "enough"
trigger = "on_turn_end"
once = true
[condition]
expression = "{condition}"
[[action]]
type = "stop"
message = "{message}"
"""


def rule(condition: str = "history.calls.look >= 3", message: str = "Enough.") -> str:
    return RULE.format(condition=condition, message=message)


def test_a_rule_is_tried_on_the_runs_and_links_those_in_which_it_fires(otto: User) -> None:
    run = long_run()
    made(say("At once."))
    page = asked(otto, replay="1", with_rule=rule())
    assert "It would have fired in 1 of 2 runs" in page.text()
    assert "It would have ended 1 run early, 1 of which completed." in page.text()
    assert "1 time in all" in page.text()
    assert "Iteration 3: stop: Enough." in page.text()
    assert "1 run: history.calls.look >= 3" in page.text()
    assert f"{LIST}{run.pk}/change/" in [at.get("href") for at in page.all("a")]


def test_a_rule_that_cannot_be_read_is_refused_with_its_places(otto: User) -> None:
    long_run()
    text = rule("history.cals.look >= 3")
    page = asked(otto, 422, replay="1", with_rule=text)
    assert "Line 6, column 15: there is no 'cals' in history; did you mean 'calls'?" in page.text()
    assert "would have fired" not in page.text()
    (area,) = page.all("textarea")
    assert area["aria-invalid"] == "true"


def test_a_rule_is_tried_by_itself(otto: User) -> None:
    page = asked(otto, 422, replay="1", with_rule=rule(), max_iterations="4")
    assert "A rule is tried by itself" in page.text()


@pytest.mark.parametrize(
    "text",
    [
        rule("any(t.error == 'x' for t in history.tools)"),
        rule("any(t == state.seen for t in history.tools)"),
        rule("history.calls.look >= 1").replace(
            'trigger = "on_turn_end"', 'on = ["tool.call.pending", "x.mine"]'
        ),
    ],
)
def test_what_was_said_cannot_be_found_out_by_a_rule(otto: User, text: str) -> None:
    """A payload that is open could be asked for anything, letter by letter."""
    long_run()
    page = asked(otto, 422, replay="1", with_rule=text)
    assert "Only people who may open transcripts can try it here." in page.text()
    reader = auditor("rita", "view_content")
    assert "of 1 run" in asked(reader, replay="1", with_rule=text).text()


# -- another behaviour ----------------------------------------------------------------------------

TWO_TURNS = '(tree "two-turns" (repeater :until-success :max-iterations 2 (turn)))'


def wrote(text: str, user: User) -> None:
    StoredBehaviour.objects.create(name="two-turns", text=text, level="own", user=user)


def test_another_behaviour_is_played_and_what_no_recording_can_tell_is_unknown(otto: User) -> None:
    long_run()
    made(say("At once."))
    same = asked(otto, replay="1", with_behaviour="oracle-agent").text()
    assert "As recorded 2" in same
    planned = asked(otto, replay="1", with_behaviour="plan-then-do").text()
    assert "Unknown 2" in planned
    assert "2 runs: At that point it tells the model something" in planned


def test_a_behaviour_that_ends_sooner_cuts_a_run_and_links_it() -> None:
    reader = auditor("rita", "view_content")
    wrote(TWO_TURNS, reader)
    run = long_run()
    page = asked(reader, replay="1", with_behaviour="two-turns")
    assert "Earlier 1" in page.text()
    assert "Completed Behaviour ended 1" in page.text()
    assert "8 → 3" in page.text()
    assert f"{LIST}{run.pk}/change/" in [at.get("href") for at in page.all("a")]
    limited = asked(reader, replay="1", with_behaviour="two-turns", max_iterations="2").text()
    assert "Completed Iteration limit 1" in limited


def test_a_run_that_another_behaviour_would_have_gone_on_with_ends_later() -> None:
    reader = auditor("rita", "view_content")
    wrote('(tree "two-turns" (sequence (turn :interim "Draft") (turn)))', reader)
    made(say("At once."))
    assert "Later 1" in asked(reader, replay="1", with_behaviour="two-turns").text()


def test_a_run_of_a_behaviour_is_as_recorded_under_it_and_unknown_under_the_default(
    otto: User,
) -> None:
    made(call("look", page=1), say("1. Look."), say("It is so."), tree="plan-then-do")
    assert "As recorded 1" in asked(otto, replay="1", with_behaviour="plan-then-do").text()
    assert "Unknown 1" in asked(otto, replay="1", with_behaviour="oracle-agent").text()


def test_a_run_whose_words_were_erased_is_unknown_to_a_behaviour(otto: User) -> None:
    erase([long_run().pk], why="a test")
    text = asked(otto, replay="1", with_behaviour="oracle-agent").text()
    assert "1 run: What was said was erased" in text


def test_a_behaviour_that_there_is_not_is_refused_and_what_was_typed_stays(otto: User) -> None:
    page = asked(otto, 422, replay="1", with_behaviour="no-<b>such", max_iterations="4")
    assert "There is no behaviour 'no-<b>such' here. Known: " in page.text()
    (field,) = [at for at in page.all("select") if at.get("name") == "with_behaviour"]
    assert field["aria-invalid"] == "true"
    (typed,) = [at for at in page.all("input") if at.get("name") == "max_iterations"]
    assert typed["value"] == "4"
    assert "What would have happened" not in page.text()


def test_a_behaviour_goes_with_its_own_tree_and_without_a_rule(otto: User) -> None:
    query = {"replay": "1", "with_behaviour": "oracle-agent"}
    assert "names its decision tree" in asked(otto, 422, **query, with_tree="quick").text()
    assert "A rule is tried by itself" in asked(otto, 422, **query, with_rule=rule()).text()


def test_what_was_said_cannot_be_found_out_by_a_behaviour_of_ones_own(otto: User) -> None:
    wrote(f'(tree "two-turns" (sequence (condition "question == \\"{SECRET}\\"") (turn)))', otto)
    StoredBehaviour.objects.create(name="of-site", text=TWO_TURNS, level="site")
    for name in ("two-turns", "of-site"):
        assert "There is no behaviour" in asked(otto, 422, with_behaviour=name).text()
    StoredBehaviour.objects.update(user=None, level="site")
    assert "There is no behaviour" in asked(otto, 422, with_behaviour="two-turns").text()


def test_one_persons_behaviour_is_nobody_elses_to_try() -> None:
    wrote(TWO_TURNS, auditor())
    reader = auditor("rita", "view_content")
    assert "There is no behaviour" in asked(reader, 422, with_behaviour="two-turns").text()
