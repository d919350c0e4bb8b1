"""What an answer stands on: what was read, what is cited, and what is said if it is nothing."""

from typing import Any

import pytest

from agents.core.answer_sources import (
    MAX_CITATION_LENGTH,
    NOT_LOOKED,
    NOT_USED,
    TOOLS_WITHOUT_NOTES,
    AnswerSources,
    Citations,
)
from agents.core.chunks import (
    CallView,
    Content,
    OracleStreamChunk,
    Source,
    SourceRef,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.ports import Service
from agents.tools.catalogue import TOOLS

READ = SourceRef("plan/a.md", "vault", 1, end_line=40)
FOUND = SourceRef("plan/b.md", "vault", 10, score=0.9, end_line=14)
ELSEWHERE = SourceRef("plan/b.md", "vault", 30, score=0.5, end_line=32)
ENTRY = SourceRef("power", "thread", 3, score=0.4)
CODE = SourceRef("src/gauge.py", "code", 7, score=0.4)


def used(answer: str, *sources: SourceRef) -> list[SourceRef]:
    """The sources that count for an answer, of those that tools gave."""
    found = AnswerSources()
    for source in sources:
        found.apply(Source(source=source))
    found.apply(Content(content=answer))
    return list(found)


def called(name: str, status: Any = "running") -> ToolCalled:
    return ToolCalled(tool_call=CallView("c", name, {}, status))


def ended(ok: bool, call: str = "c0", parent: str = "") -> ToolResult:
    return ToolResult(
        tool_call_id=call, tool_result="", ok=ok, duration_ms=1, order=0, parent=parent
    )


def test_what_was_read_counts_and_what_was_only_found_does_not() -> None:
    assert used("So it is.", FOUND, READ, ENTRY) == [READ]


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        ("So it is [plan/b.md:12].", [FOUND]),
        ("So it is [plan/b.md:31-35].", [ELSEWHERE]),
        ("So it is [plan/b.md].", [FOUND, ELSEWHERE]),
        ("So it is [plan/b.md:99].", [FOUND]),
        ("So it is [`plan/b.md:12`, src/gauge.py:7].", [FOUND, CODE]),
        ("So it is [plan/b.md:12; thread:power#3].", [FOUND, ENTRY]),
        ("So it is [thread:power#3].", [ENTRY]),
        ("So it is [power#3] [plan/B.md] [b.md] plan/b.md (plan/b.md).", []),
        ("So it is [plan/b.md\n].", []),
        ("", []),
    ],
)
def test_what_was_found_counts_if_it_is_cited(answer: str, counted: list[SourceRef]) -> None:
    assert used(answer, FOUND, ELSEWHERE, ENTRY, CODE) == counted


def test_a_place_that_was_found_and_then_read_counts_once() -> None:
    found = SourceRef("plan/a.md", "vault", 12, score=0.9, end_line=14)
    assert used("[plan/a.md:12]", found, READ, READ) == [READ]
    beyond = SourceRef("plan/a.md", "vault", 50, score=0.9)
    assert used("[plan/a.md:50]", beyond, READ) == [beyond, READ]
    same_line = SourceRef("plan/a.md", "vault", 1, score=0.9)
    assert used("", same_line, READ) == [READ]


def test_a_page_of_the_web_that_was_read_counts() -> None:
    page = SourceRef("https://docs.example/a", "web")
    assert used("So it is.", page) == [page]


def test_what_only_an_unfinished_subagent_has_read_does_not_count() -> None:
    inner = Source(source=READ, parent="c0/s1")
    for ok in (True, False):
        found = AnswerSources()
        assert found.apply(inner)
        assert found.apply(ended(ok)) is not ok
        assert found.apply(inner) is ok  # what it does after its end
        assert list(found) == ([READ] if ok else [])
    found = AnswerSources()
    for chunk in (inner, Source(source=READ), ended(False)):
        found.apply(chunk)
    assert list(found) == [READ]


def test_what_was_erased_does_not_count() -> None:
    assert used("[]", SourceRef("", "vault")) == []


@pytest.mark.parametrize("outcome", ["completed", "limited"])
def test_an_answer_that_used_no_source_says_so(outcome: str) -> None:
    def note(*chunks: OracleStreamChunk) -> str:
        found = AnswerSources()
        for chunk in chunks:
            found.apply(chunk)
        return found.note(outcome)

    text = Content(content="So it is.")
    assert note(text) == NOT_LOOKED == "Answered without looking at your notes"
    assert note(called("think"), called("calculate"), text) == NOT_LOOKED
    assert note(called("vault_read", "refused"), text) == NOT_LOOKED
    assert note(called("vault_search"), Source(source=FOUND), text) == NOT_USED
    assert note(called("vault_read"), Source(source=READ), text) == ""
    assert note() == note(Content(content=" \n"), Content(content="x", parent="c0")) == ""


@pytest.mark.parametrize("outcome", [None, "failed", "cancelled"])
def test_what_is_no_answer_or_none_yet_says_nothing(outcome: str | None) -> None:
    found = AnswerSources()
    found.apply(Content(content="So it"))
    assert found.note(outcome) == ""


def test_tools_that_look_nothing_up_are_those_that_are_handed_nothing() -> None:
    shipped = [tool for _, tool in TOOLS if tool.function.__module__.startswith("agents.")]
    alone = {
        tool.name
        for tool in shipped
        if not any(issubclass(kind, Service) for kind in tool.injected.values())
    }
    assert alone == TOOLS_WITHOUT_NOTES


TEXT = "a [plan/b.md:3-5] [[x]] [unclosed\n [c d.md, e.md] [" + "y" * 600 + "] [thread:p#3] [f"


def test_citations_are_the_same_however_the_text_is_cut() -> None:
    whole = Citations()
    whole.feed(TEXT)
    assert {"plan/b.md", "c d.md", "e.md", "x", "thread:p"} <= set(whole.lines)
    for at in range(len(TEXT)):
        cut = Citations()
        cut.feed(TEXT[:at])
        cut.feed(TEXT[at:])
        assert cut.lines == whole.lines
    single = Citations()
    for character in TEXT:
        single.feed(character)
    assert single.lines == whole.lines


def test_a_citation_does_not_go_on_in_the_next_turn() -> None:
    found = AnswerSources()
    found.apply(Source(source=FOUND))
    for chunk in (
        Content(content="[plan/"),
        Turn(number=2, phase="start"),
        Content(content="b.md]"),
    ):
        found.apply(chunk)
    assert list(found) == []


def test_what_only_a_draft_cites_does_not_count() -> None:
    found = AnswerSources()
    for chunk in (
        Source(source=FOUND),
        Turn(number=1, phase="start", interim="Draft"),
        Content(content="[plan/b.md]"),
        Turn(number=2, phase="start"),
    ):
        found.apply(chunk)
    assert (list(found), found.note("completed")) == ([], "")
    found.apply(Content(content="So it is."))
    assert found.note("completed") == NOT_LOOKED
    found.apply(Content(content=" [plan/b.md]"))
    assert list(found) == [FOUND]


def test_what_is_open_is_kept_no_longer_than_a_citation_can_be() -> None:
    cited = Citations()
    for _ in range(50):
        cited.feed("[" + "x" * 100 + "]" * 0 + "x" * 100)
    assert len(cited._open) <= MAX_CITATION_LENGTH
