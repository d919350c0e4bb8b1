"""The page of a run: what it says of every ending, and that it never fails."""

import json
import uuid
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.audit.erasure import erase
from agents.audit.log import log_action
from agents.core.reasons import REASONS
from agents.models import AgentRun
from tests.agents.admin.fixtures import (
    LIST,
    SECRET,
    async_browser,
    auditor,
    browser,
    ended,
    going,
    made,
    page_of,
    person,
    tampering,
)
from tests.support.pages import Page, problems
from tests.support.script import call, say

pytestmark = pytest.mark.django_db(transaction=True)


def completed(**more: Any) -> AgentRun:
    return made(call("look", page=SECRET), say(f"It is {SECRET}."), **more)


def limited() -> AgentRun:
    """Stopped by its turns, with warnings on the way."""
    steps = [call("look", page=n) for n in range(4)]
    return made(*steps, say("That is all."), max_iterations=5)


def test_the_page_says_why_a_run_stopped() -> None:
    text = page_of(limited(), auditor()).text()
    reason = REASONS.get("max_iterations")
    assert reason.sentence in text
    assert reason.remedy in text
    assert reason.label in text
    assert "5 of 5" in text
    assert "Record intact" in text


def test_the_page_is_well_formed_and_within_the_policy() -> None:
    answer = browser(auditor()).get(f"{LIST}{limited().pk}/change/")
    found = problems(answer.content.decode().replace("<!DOCTYPE", "<!doctype", 1))
    assert [what for what in found if "<title>" not in what] == []  # of what is drawn


def test_nothing_that_was_said_is_shown_without_the_permission() -> None:
    run = completed()
    reader = auditor("rita", "view_content", "export_runs", "cancel_runs")
    for user in (auditor(), reader):
        answer = browser(user).get(f"{LIST}{run.pk}/change/?page=1")
        assert SECRET not in answer.content.decode()
        assert "harbour" not in answer.content.decode()
    assert "Open the transcript" in page_of(run, reader).text()
    assert "Open the transcript" not in page_of(run, auditor("olga")).text()


def test_the_words_of_hints_are_for_those_who_may_read() -> None:
    run = limited()
    words = "Approaching iteration limit"
    assert words not in page_of(run, auditor()).text()
    assert words in page_of(run, auditor("rita", "view_content")).text()


def test_the_decision_trace_shows_what_each_rule_saw_and_marks_the_one_that_decided() -> None:
    page = page_of(limited(), auditor())
    text = page.text()
    assert "Before the first iteration" in text
    assert "The run continues" in text
    assert "Stop (decisive)" in text
    assert [at for _, at in page.elements if at.get("class") == "decided"]


def test_limits_are_meters_with_words() -> None:
    page = page_of(limited(), auditor())
    assert len(page.all("meter")) == 5
    assert "Warn at, iterations (%):" in page.text()


@pytest.mark.parametrize("kind", ["nobody", "user", "staff"])
def test_who_may_not_see_runs_sees_none(kind: str) -> None:
    run = completed()
    user = person(kind, is_staff=kind == "staff")
    for path in ("change/", "live/", "transcript/", "cancel/"):
        client = browser(user)
        answer = client.get(f"{LIST}{run.pk}/{path}")
        assert answer.status_code in (302, 403), path
        assert str(run.model).encode() not in answer.content


def test_a_run_that_does_not_exist_is_not_found() -> None:
    client = browser(auditor())
    for path in ("change/", "live/"):
        assert client.get(f"{LIST}{uuid.uuid4()}/{path}").status_code == 404
    assert client.get(f"{LIST}nonsense/change/").status_code == 404


def test_the_page_only_reads() -> None:
    run = completed()
    client = browser(person("root", is_staff=True, is_superuser=True))
    for path in ("change/", "live/"):
        assert client.post(f"{LIST}{run.pk}/{path}", {"reason": "x"}).status_code == 405


def test_the_chat_is_linked_for_its_owner_only() -> None:
    key = uuid.uuid4()
    run = completed(conversation_key=key)
    assert "Open the chat" not in page_of(run, auditor()).text()
    assert str(key) in page_of(run, auditor("olga")).text()
    assert run.user is not None
    run.user.is_staff = run.user.is_superuser = True
    run.user.save()
    assert "Open the chat" in page_of(run, run.user).text()


def test_continuations_are_linked_both_ways() -> None:
    first = limited()
    second = made(say("And so on."), continued_from=first.pk)
    hrefs = [at.get("href") for at in page_of(first, auditor()).all("a")]
    assert f"{LIST}{second.pk}/change/" in hrefs
    hrefs = [at.get("href") for at in page_of(second, auditor("olga")).all("a")]
    assert f"{LIST}{first.pk}/change/" in hrefs


def test_who_looked_is_listed() -> None:
    run = completed()
    log_action("transcript", by=auditor("rita"), run=run)
    text = page_of(run, auditor()).text()
    assert "Opened a transcript" in text
    assert "rita" in text


def test_an_erased_run_says_so_and_is_intact() -> None:
    run = completed()
    erase([run.pk], why="retention")
    text = page_of(run, auditor("rita", "view_content")).text()
    assert "Erased on" in text
    assert "Damaged" not in text
    assert "retention" in text


def test_a_run_of_a_deleted_user_is_shown() -> None:
    run = completed()
    assert run.user is not None
    run.user.delete()
    assert "deleted user" in page_of(run, auditor()).text()


# -- live -----------------------------------------------------------------------------------------


async def test_a_run_that_goes_on_is_polled_until_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = await sync_to_async(auditor)()
    client = await async_browser(user)
    async with going(monkeypatch) as (runtime, row):
        whole = Page((await client.get(f"{LIST}{row.pk}/change/", secure=True)).content.decode())
        (polled,) = [at for _, at in whole.elements if "hx-get" in at]
        assert "It is using wait." in whole.text()
        live = await client.get(polled["hx-get"], secure=True)
        assert live.status_code == 200
        assert "It is using wait." in live.content.decode()
        assert "<html" not in live.content.decode()
        await runtime.cancel(row.pk)
        await ended(runtime, row.pk)
        last = await client.get(polled["hx-get"], secure=True)
    assert last.status_code == 286
    assert "The run was stopped on request." in last.content.decode()
    assert 'id="run-cancel" hx-swap-oob="true"' in last.content.decode()


def test_a_live_part_never_answers_with_a_form_to_sign_in() -> None:
    run = completed()
    answer = browser(person("nobody")).get(f"{LIST}{run.pk}/live/")
    assert (answer.status_code, answer["HX-Refresh"]) == (403, "true")


# -- damage ---------------------------------------------------------------------------------------

DAMAGES = {
    "unparsable data": "UPDATE agents_runevent SET data = '{\"number' WHERE {one}",
    "data of another type": "UPDATE agents_runevent SET data = '[1, 2]' WHERE {one}",
    "data that is empty": "UPDATE agents_runevent SET data = '{{}}' WHERE {one}",
    "a gap": "DELETE FROM agents_runevent WHERE {one}",
    "everything gone": "DELETE FROM agents_runevent WHERE {all}",
    "the end gone": "DELETE FROM agents_runevent WHERE {all} AND kind = 'done'",
    "an unknown kind": "UPDATE agents_runevent SET kind = 'sorcery' WHERE {one}",
    "a time that is none": "UPDATE agents_runevent SET at = 'yesterday' WHERE {one}",
    "a number far away": "UPDATE agents_runevent SET seq = seq + 2000000000 WHERE {one}",
    "bytes": "UPDATE agents_runevent SET content = x'ff00' WHERE {one}",
    "text that is none": "UPDATE agents_runevent SET data = CAST(x'22ff22' AS TEXT) WHERE {one}",
}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases refuse such values")
@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=[pytest.mark.ci] if number % 3 else [])
        for number, what in enumerate(DAMAGES)
    ],
)
def test_a_damaged_run_is_shown_as_damaged(what: str) -> None:
    run = limited()
    reader = auditor("rita", "view_content")
    for seq in (2, 4, 9):
        where = {
            "one": f"run_id = '{run.pk.hex}' AND seq = {seq}",
            "all": f"run_id = '{run.pk.hex}'",
        }
        with tampering() as cursor:
            cursor.execute(
                DAMAGES[what]
                .replace("{one}", where["one"])
                .replace("{all}", where["all"])
                .replace("{{}}", "{}")
            )
    text = page_of(run, reader).text()
    assert "Damaged" in text
    client = browser(reader)
    for query in ("?page=1", "?page=2", "?page=99999999", "?page=-1", "?page=x", "?check=1"):
        assert client.get(f"{LIST}{run.pk}/change/{query}").status_code == 200
    assert client.get(f"{LIST}{run.pk}/live/").status_code == 286
    assert client.post(f"{LIST}{run.pk}/transcript/").status_code == 200


WRONG: list[Any] = [None, 3, -1, 1e400, "x", [], [1], {}, {"a": {}}, True, 10**30]


def test_any_value_in_an_events_data_is_survived() -> None:
    run = limited()
    user = auditor("rita", "view_content")
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq, data FROM agents_runevent WHERE run_id = %s", [run.pk.hex])
        rows = cursor.fetchall()
    client = browser(user)
    for number, wrong in enumerate(WRONG):
        with tampering() as cursor:
            for seq, data in rows:
                bad = dict.fromkeys(json.loads(data), wrong)
                cursor.execute(
                    "UPDATE agents_runevent SET data = %s WHERE run_id = %s AND seq = %s",
                    [json.dumps(bad), run.pk.hex, seq],
                )
        answer = client.get(f"{LIST}{run.pk}/change/?page=1")
        assert answer.status_code == 200, (number, wrong)
        assert client.post(f"{LIST}{run.pk}/transcript/").status_code == 200


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("config", "[]"),
        ("config", '{"max_iterations": "many"}'),
        ("config", '{"max_iterations'),
        ("also_triggered", '{"a": 1}'),
        ("also_triggered", "[1, null]"),
        ("digests", "nonsense"),
        ("reason", "no_such_reason"),
        ("started_at", "yesterday"),
        ("last_seq", 2_000_000_000),
    ],
)
def test_a_damaged_row_is_shown_as_damaged(column: str, value: Any) -> None:
    run = limited()
    with tampering() as cursor:
        statement = f"UPDATE agents_agentrun SET {column} = %s WHERE id = %s"  # noqa: S608  # ours
        cursor.execute(statement, [value, run.pk.hex])
    assert "Damaged" in page_of(run, auditor()).text()


# -- size -----------------------------------------------------------------------------------------


def queries(run: AgentRun, query: str = "") -> int:
    user = auditor(f"user-{uuid.uuid4()}")
    client = browser(user)
    client.get(f"{LIST}{run.pk}/change/")
    with CaptureQueriesContext(connection) as captured:
        assert client.get(f"{LIST}{run.pk}/change/{query}").status_code == 200
    return len(captured)


def test_the_number_of_queries_does_not_grow_with_the_run() -> None:
    short = made(say("Yes."))
    long = made(*(call("look", page=n) for n in range(30)), say("At last."), max_iterations=40)
    assert queries(short) == queries(long)


def test_what_no_other_chunk_shows_is_in_the_table_of_events_by_its_name_only() -> None:
    run = made(call("look", page=SECRET), call("look", page=SECRET), say("So."))
    text = page_of(run, auditor(), "?page=1").text()
    assert "query.start (info, loop)" in text
    assert "agent.turn.repeated (warning, loop)" in text
    assert SECRET not in text


def test_a_notification_is_in_the_table_of_events_by_its_subscriber() -> None:
    run = made(call("missing", page=SECRET), say("So."))
    text = page_of(run, auditor(), "?page=1").text()
    assert "notification (tool-failures)" in text
    assert SECRET not in text


def test_a_run_of_many_events_is_paged_and_its_text_only_counted() -> None:
    run = made(say("word " * 450), token_budget=200_000)
    user = auditor()
    page = page_of(run, user, "?page=2")
    assert "page 2 of" in page.text()
    rows = [at for tag, at in page.elements if tag == "tr"]
    assert len(rows) < 300
    assert "characters)" in page.text()


def test_the_page_tells_rules_and_who_said_what_to_those_who_may_read_it() -> None:
    run = made(*(call("look", page=n) for n in range(3)), say("So."), max_iterations=3)
    plain = page_of(run, auditor()).text()
    assert "shipped:unfinished-work" in plain
    assert "Notices and hints" in plain
    assert "Only people who may open transcripts can read the words." in plain
    told = page_of(run, auditor("rita", "view_content")).text()
    assert "the user" in told
    assert "limits" in told
