"""Exports: what the filter shows, metadata only, harmless to spreadsheets, recorded, streamed."""

import csv
import io
import json
import tracemalloc
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents.admin.runs.export_formats import (
    BATCH_SIZE,
    COLUMNS,
    FORMULA_START,
    as_csv,
    as_json_lines,
    escape_cell,
    iter_rows,
)
from agents.models import AgentRun, AuditEntry
from tests.agents.admin.factories import LIST, Owner, ended, running, saved
from tests.agents.admin.fixtures import auditor, owner

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> Owner:
    return owner()


@pytest.fixture
def exporter() -> User:
    return auditor("exporter", "export_runs")


def answer_to(user: User, query: str, method: str = "get") -> Any:
    client = Client()
    client.force_login(user)
    return getattr(client, method)(f"{LIST}export.{query}", secure=True)


def text_of(response: Any) -> str:
    async def whole(pieces: AsyncIterator[bytes]) -> bytes:
        return b"".join([piece async for piece in pieces])

    assert response.status_code == 200, response.content
    return async_to_sync(whole)(response.streaming_content).decode()


def test_an_export_has_the_runs_of_the_filter_the_newest_first(
    people: Owner, exporter: User
) -> None:
    now = timezone.now()
    late = ended(*people, "timeout", at=now)
    early = ended(*people, "timeout", at=now - timedelta(days=3), model="large")
    saved(late, early, ended(*people))
    answer = answer_to(exporter, "csv?reason=timeout")
    found = list(csv.DictReader(io.StringIO(text_of(answer))))
    assert [row["id"] for row in found] == [str(late.pk), str(early.pk)]
    assert found[1]["model"] == "large"
    assert (found[0]["user"], found[0]["limit_max_iterations"]) == ("ada", "15")
    assert "attachment" in answer["Content-Disposition"]
    lines = text_of(answer_to(exporter, "jsonl?reason=timeout")).splitlines()
    assert [json.loads(line)["id"] for line in lines] == [str(late.pk), str(early.pk)]
    assert json.loads(lines[0])["config"]["max_iterations"] == 15


def test_nothing_that_was_said_is_exported(people: Owner, exporter: User) -> None:
    saved(ended(*people, explanation="a secret explanation", error="a secret error"))
    for form in ("csv", "jsonl"):
        assert "secret" not in text_of(answer_to(exporter, form))
    assert not {"question", "answer", "explanation", "error", "title", "context_runs"} & set(
        COLUMNS
    )


def test_an_export_is_recorded_before_its_first_byte(people: Owner, exporter: User) -> None:
    saved(ended(*people), ended(*people, "timeout"))
    answer_to(exporter, "csv?reason=timeout&o=-0&p=1")  # nobody reads it
    entry = AuditEntry.objects.exclude(verb="close").get()
    assert (entry.verb, entry.by) == ("export", exporter)
    assert entry.detail == {"form": "csv", "filters": {"reason": "timeout"}, "rows": 1}


@pytest.mark.parametrize("query", ["csv?question__contains=a", "csv?user=x", "csv?when=never"])
def test_what_is_no_filter_exports_nothing(query: str, people: Owner, exporter: User) -> None:
    assert answer_to(exporter, query).status_code == 400
    assert not AuditEntry.objects.exclude(verb="close").exists()


def test_the_permission_is_its_own(people: Owner, exporter: User) -> None:
    assert answer_to(auditor(), "csv").status_code == 403
    assert answer_to(exporter, "xlsx").status_code == 404
    assert answer_to(exporter, "csv", "post").status_code == 405
    assert answer_to(exporter, "csv", "head").status_code == 405
    assert not AuditEntry.objects.exclude(verb="close").exists()


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", ' "=1', "'=1", "  @x", "＝1", '"@', "\ta", "\ra"],  # noqa: RUF001  # wide on purpose
)
def test_no_cell_is_a_formula(text: str, people: Owner, exporter: User) -> None:
    assert escape_cell(text) == f"'{text}"
    saved(ended(*people, model=text))
    (row,) = csv.DictReader(io.StringIO(text_of(answer_to(exporter, "csv"))))
    assert row["model"] == f"'{text}"
    (line,) = text_of(answer_to(exporter, "jsonl")).splitlines()
    assert json.loads(line)["model"] == text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONE])
def test_no_cell_is_a_formula_whatever_separates_cells_for_who_opens_the_file(
    delimiter: str, quoting: Any
) -> None:
    texts = [
        f"{before}{separator}{blank}=cmd|'/c calc'!A1"
        for before in ("", "x", '"', '"x,')
        for separator in ("", ";", ",", "|", "\t", "\n", "\r", "\r\n", "\v", "\x85", "\u2028")
        for blank in ("", " ", '"', "' ")
    ]
    rows = [{**dict.fromkeys(COLUMNS), "model": text} for text in texts]
    lines = "".join(as_csv(rows)).splitlines(keepends=True)
    cells = {
        cell.lstrip(' \t"')
        for row in csv.reader(lines, delimiter=delimiter, quoting=quoting)
        for cell in row
    }
    assert {cell for cell in cells if "cmd" in cell}
    assert not {cell for cell in cells if cell.startswith(("=", "+", "-", "@"))}


def test_a_line_end_of_two_characters_gets_one_apostrophe() -> None:
    assert escape_cell("a\r\n=1") == "a\r\n'=1"
    assert escape_cell("a\r\nb") == "a\r\nb"


@pytest.mark.parametrize("text", ["offline", "gpt-4o", "a=b", "1", "", "x@y", "é", "a;b\tc\nd"])
def test_what_is_harmless_is_left_alone(text: str) -> None:
    assert escape_cell(text) == text
    assert not FORMULA_START.search(text)


def test_newlines_commas_and_quotes_stay_in_their_cell(people: Owner, exporter: User) -> None:
    saved(ended(*people, model='a\r\nb,"c"\nd'))
    (row,) = csv.DictReader(io.StringIO(text_of(answer_to(exporter, "csv")), newline=""))
    assert row["model"] == 'a\r\nb,"c"\nd'


def test_a_deleted_user_and_a_running_run_are_exported(people: Owner, exporter: User) -> None:
    saved(ended(None, people[1]), running(*people))
    found = list(csv.DictReader(io.StringIO(text_of(answer_to(exporter, "csv")))))
    assert {row["user"] for row in found} == {"", "ada"}
    assert {row["outcome"] for row in found} == {"", "completed"}


def test_runs_of_the_same_moment_are_all_there_once(people: Owner) -> None:
    now = timezone.now()
    made = saved(*(ended(*people, at=now) for _ in range(2 * BATCH_SIZE + 3)))
    found = [row["id"] for row in iter_rows(AgentRun.objects.all())]
    assert sorted(found) == sorted(run.pk for run in made)


@pytest.mark.ci
def test_memory_does_not_grow_with_the_number_of_runs(people: Owner) -> None:
    now = timezone.now()

    def peak(form: Any) -> int:
        tracemalloc.start()
        for _ in form(iter_rows(AgentRun.objects.all())):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    saved(*(ended(*people, at=now - timedelta(seconds=n)) for n in range(2 * BATCH_SIZE)))
    few = max(peak(as_csv), peak(as_json_lines))
    saved(*(ended(*people, at=now - timedelta(days=1, seconds=n)) for n in range(6 * BATCH_SIZE)))
    assert max(peak(as_csv), peak(as_json_lines)) < 1.5 * few


def test_entries_say_that_was_searched_but_not_for_what(people: Owner, exporter: User) -> None:
    answer_to(exporter, "csv?q=harbour&reason=timeout")
    assert AuditEntry.objects.exclude(verb="close").get().detail["filters"]["q"] == "harbour"
    client = Client()
    client.force_login(auditor("otto", "view_auditentry"))
    html = client.get("/admin/agents/auditentry/", secure=True).content.decode()
    assert "harbour" not in html
    assert "reason=timeout" in html
    assert client.get("/admin/agents/auditentry/?verb=export", secure=True).status_code == 200
    for query in ("verb=%00", "verb=x", "detail__contains=a", "by__password=a", "p=x", "p=99"):
        answer = client.get(f"/admin/agents/auditentry/?{query}", secure=True)
        assert answer.status_code in (200, 302), query
