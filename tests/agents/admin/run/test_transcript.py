"""What was said: for those who may read it, and every opening is recorded."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from agents.audit.erasure import erase, erase_unfinished
from agents.core.chunks import (
    CallView,
    Content,
    OracleStreamChunk,
    Thinking,
    ToolCalled,
    ToolResult,
)
from agents.core.messages import Finished, ReasoningDelta, TextDelta
from agents.models import AgentRun, AuditEntry
from tests.agents.admin.fixtures import LIST, SECRET, auditor, browser, made, page_of, person
from tests.agents.audit.stored_runs import kept
from tests.support.pages import Page, problems
from tests.support.script import Call, call, calls, say

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rita(db: None) -> User:
    """An auditor with content."""
    return auditor("rita", "view_content")


def run_with(text: str) -> AgentRun:
    return made(call("look", page=SECRET), [ReasoningDelta("Hm."), TextDelta(text), Finished()])


def opened(run: AgentRun, user: User, **data: object) -> str:
    answer = browser(user).post(f"{LIST}{run.pk}/transcript/", data)
    assert answer.status_code == 200, answer.content[:300]
    return answer.content.decode()


def test_opening_asks_first_and_shows_nothing(rita: User) -> None:
    run = run_with("Yes.")
    html = browser(rita).get(f"{LIST}{run.pk}/transcript/").content.decode()
    assert "are recorded" in html
    assert SECRET not in html
    assert not AuditEntry.objects.exclude(verb="close").exists()


def test_an_opening_is_recorded_and_shows_what_was_said(rita: User) -> None:
    run = run_with("It is an old story.")
    text = Page(opened(run, rita)).text()
    for said in (f"What is {SECRET}?", f"found {SECRET}", "It is an old story.", "Hm.", "look"):
        assert said in text
    entry = AuditEntry.objects.exclude(verb="close").get()
    assert (entry.verb, entry.by, entry.run) == ("transcript", rita, run)
    opened(run, rita)
    assert AuditEntry.objects.exclude(verb="close").count() == 2
    assert page_of(run, auditor()).text().count("Opened a transcript") == 2


def test_the_page_is_well_formed(rita: User) -> None:
    html = opened(run_with("x" * 3000), rita)
    assert problems(html.replace("<!DOCTYPE", "<!doctype", 1)) == []


def test_of_a_result_that_was_summarised_both_are_shown(rita: User) -> None:
    long = "A line of the log.\n" * 300
    result = ToolResult(
        seq=0, tool_call_id="a", tool_result=long, ok=True, duration_ms=1, order=0, given="Short."
    )
    call_view = ToolCalled(seq=0, tool_call=CallView("a", "look", {}, "running"))
    run = kept([replace(call_view, seq=1), replace(result, seq=2), Content(seq=3, content="So.")])
    text = Page(opened(run, rita)).text()
    assert "The model got this summary: Short. Of: A line of the log." in text
    assert '"given"' not in text
    whole = Page(opened(run, rita, part="2")).text()
    assert whole.count("A line of the log.") == 300
    assert "Short." in whole


@pytest.mark.parametrize("kind", ["user", "staff", "auditor"])
def test_nobody_else_can_open_it(kind: str) -> None:
    run = run_with("Yes.")
    user = auditor() if kind == "auditor" else person(kind, is_staff=kind == "staff")
    client = browser(user)
    for answer in (
        client.get(f"{LIST}{run.pk}/transcript/"),
        client.post(f"{LIST}{run.pk}/transcript/"),
        client.post(f"{LIST}{run.pk}/transcript/", {"part": "question"}),
    ):
        assert answer.status_code in (302, 403)
        assert SECRET.encode() not in answer.content
    assert not AuditEntry.objects.exclude(verb="close").exists()


def test_markup_is_shown_as_text(rita: User) -> None:
    html = opened(run_with("<script>alert(1)</script> & <b>"), rita)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;" in html


def test_long_parts_are_cut_and_shown_whole_on_request(rita: User) -> None:
    run = run_with("begin " + "x" * 5000 + " end")
    html = opened(run, rita)
    assert "x end" not in html
    (part,) = [at["value"] for at in Page(html).all("button") if at.get("name") == "part"]
    assert "x end" in opened(run, rita, part=part)
    assert [entry.detail for entry in AuditEntry.objects.exclude(verb="close").order_by("id")] == [
        {},
        {"part": part},
    ]


def test_pieces_of_an_answer_are_one_part(rita: User) -> None:
    html = opened(made(say("one two three four five six seven")), rita)
    assert "one two three four five six seven" in html


def test_a_part_or_a_run_that_does_not_exist_is_not_found(rita: User) -> None:
    run = run_with("Yes.")
    client = browser(rita)
    assert client.post(f"{LIST}{run.pk}/transcript/", {"part": "9999"}).status_code == 404
    assert client.get(f"{LIST}{'0' * 8}-0000-4000-8000-{'0' * 12}/transcript/").status_code == 404
    assert opened(run, rita, page="x")
    assert opened(run, rita, page="99")


def test_an_erased_run_has_nothing_to_show(rita: User) -> None:
    run = run_with("Yes.")
    erase([run.pk], why="retention")
    html = opened(run, rita)
    assert SECRET not in html
    assert "Erased." in html


def test_many_parts_are_paged(rita: User) -> None:
    turns = [
        calls(*(Call("look", {"page": f"{turn}-{n}"}) for n in range(20))) for turn in range(12)
    ]
    run = made(*turns, say("So."), max_tool_calls_per_turn=20, token_budget=200_000)
    assert "Page 1 of 3" in opened(run, rita)
    assert "Page 3 of 3" in opened(run, rita, page=3)
    assert AuditEntry.objects.exclude(verb="close").first().detail == {"page": 3}  # type: ignore[union-attr]  # the newest


def delegated(*results: bool) -> AgentRun:
    """A run with subagents, of which some finished."""
    chunks: list[OracleStreamChunk] = []
    for number, ok in enumerate(results):
        call_id = f"c{number}"
        view = CallView(call_id, "delegate_librarian", {"task": "Read"}, "running")
        chunks += [
            ToolCalled(tool_call=view),
            Thinking(content=f"Hm, {call_id}.", parent=call_id),
            Content(content=f"Summary of {call_id}.", parent=call_id),
            ToolCalled(tool_call=replace(view, id="x", name="look"), parent=call_id),
            replace(ENDED, tool_call_id="x", ok=True, parent=call_id),
            replace(ENDED, tool_call_id=call_id, ok=ok),
        ]
    run = kept([replace(chunk, seq=n, at=1e9) for n, chunk in enumerate(chunks, start=1)])
    erase_unfinished(run.pk, [f"c{n}" for n, ok in enumerate(results) if not ok])
    return run


ENDED = ToolResult(tool_call_id="", tool_result="The end.", ok=True, duration_ms=1, order=0)


def test_of_a_subagent_that_did_not_finish_one_line_says_so(rita: User) -> None:
    page = Page(opened(delegated(False, True, False), rita))
    text = page.text()
    assert text.count("Unfinished work of a subagent was not kept.") == 2
    assert "Hm, c1." in text
    assert "Summary of c1." in text
    assert "Hm, c0." not in text
    assert "Summary of c0." not in text
    assert "Empty, or erased" not in text
    assert text.count("delegate_librarian") == 6  # each with its result


def test_who_looks_at_a_run_reads_that_a_subagents_work_was_erased() -> None:
    text = page_of(delegated(False), auditor()).text()
    assert "Erased unfinished work of a subagent" in text
    assert "call: c0" in text
    assert "the server or the command line" in text


def test_what_was_written_before_the_answer_has_its_label(rita: User) -> None:
    run = made(say("1. Look."), say("It is so."), tree="plan-then-do")
    text = Page(opened(run, rita)).text()
    assert "Plan, before the answer" in text
    assert text.index("Plan, before the answer") < text.index("1. Look.") < text.index("It is so.")
