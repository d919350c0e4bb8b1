"""Chunks sorted into parts: what is text, thinking, tools and notices, and what has changed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agents.core.chunks import (
    Chunk,
    Content,
    ContextUpdate,
    Decision,
    Error,
    Hint,
    Source,
    SourceRef,
    Status,
    Thinking,
    Turn,
)
from agents.runtime.settling import UNKNOWN
from chat.answers import ARGUMENT_CHARS, Answer
from chat.calls import call_of
from chat.fragments import answer as whole
from chat.parts import Card, NoticePart, TextPart, ToolsPart
from tests.chat.answering import RUN, a_run, called, done, notice, result, stamped
from tests.chat.talks import Talk, said
from tests.support.dom import Dom

Shown = list[tuple[str, str]]


def taken(chunks: Sequence[Chunk]) -> Answer:
    answer = Answer(RUN)
    for chunk in chunks:
        answer.take(chunk)
    return answer


def cards(answer: Answer) -> list[Card]:
    return [card for part in answer.parts if isinstance(part, ToolsPart) for card in part.cards]


def statuses(answer: Answer) -> Shown:
    return [(card.call_id, card.status) for card in cards(answer)]


# -- parts ----------------------------------------------------------------------------------------


def test_each_kind_of_thing_is_a_part_and_the_same_kind_goes_on() -> None:
    answer = taken(
        [
            Thinking(content="Hm"),
            Thinking(content=", so."),
            Content(content="Let me"),
            Content(content=" look."),
            called("c0"),
            called("c1"),
            notice(),
            Content(content="It is so."),
        ]
    )
    assert [part.template for part in answer.parts] == [
        "thinking", "text", "tools", "notice", "text",
    ]  # fmt: skip
    assert [part.id for part in answer.parts] == [f"r{RUN.hex[:12]}-p{n}" for n in range(5)]


def test_a_part_ends_when_the_next_one_begins() -> None:
    answer = taken([Thinking(content="Hm", at=3.0), Content(content="So", at=5.4)])
    thinking, text = answer.parts
    assert isinstance(thinking, TextPart)
    assert isinstance(text, TextPart)
    assert (thinking.ended, thinking.seconds, thinking.tail) == (5.4, 2, "")
    assert text.ended is None


@pytest.mark.parametrize(
    "chunk",
    [
        Hint(text="Be brief."),
        Status(tools=("look",), seconds=1.0),
        Decision(checkpoint="turn", goes_on=True, reason="", tree="default", checks=()),
    ],
)
def test_what_is_for_the_audit_is_not_shown(chunk: Chunk) -> None:
    answer = taken([chunk])
    assert (answer.parts, answer.changed, answer.usage_changed) == ([], [], False)


def test_the_cursor_is_the_number_of_the_last_chunk() -> None:
    assert taken([Content(content="a", seq=7), Hint(text="x", seq=8)]).upto == 8


def test_thinking_and_text_are_the_models_words_and_nothing_else_is() -> None:
    assert not taken([called("c0"), notice()]).has_words
    assert taken([Thinking(content="Hm")]).has_words
    assert taken([Content(content="So")]).has_words


# -- tools ----------------------------------------------------------------------------------------


def test_a_call_is_queued_then_running_then_done() -> None:
    answer = taken([called("c0")])
    assert statuses(answer) == [("c0", "queued")]
    answer.take(called("c0", "running"))
    assert statuses(answer) == [("c0", "running")]
    answer.take(result("c0"))
    assert statuses(answer) == [("c0", "done")]
    assert cards(answer)[0].seconds == 1.2


@pytest.mark.parametrize(
    ("chunks", "status"),
    [
        ([called("c0", "running"), result("c0", ok=False)], "failed"),
        ([called("c0", "refused"), result("c0", ok=False)], "refused"),
        (
            [called("c0", "running"), replace(result("c0", ok=False), tool_result=UNKNOWN)],
            "unknown",
        ),
    ],
)
def test_a_call_that_failed_is_told_from_one_that_was_refused_or_cut(
    chunks: list[Chunk], status: str
) -> None:
    assert statuses(taken(chunks)) == [("c0", status)]


def test_a_result_of_a_call_that_nobody_made_is_ignored() -> None:
    assert taken([result("c9")]).parts == []


@pytest.mark.parametrize(("calls", "folded"), [(3, False), (4, True)])
def test_more_than_three_calls_are_folded_when_something_follows(calls: int, folded: bool) -> None:
    answer = taken([called(f"c{n}") for n in range(calls)])
    (part,) = answer.parts
    assert isinstance(part, ToolsPart)
    for n in range(calls - 1):
        answer.take(result(f"c{n}"))
    assert not part.folded
    answer.take(Content(content="So."))
    assert not part.folded  # one is still under way
    answer.take(result(f"c{calls - 1}"))
    assert part.folded is folded


@pytest.mark.parametrize(
    ("arguments", "gist"),
    [
        ({}, ""),
        ({"query": "salt  \n water"}, "salt water"),
        ({"path": "a.md", "line": 3}, "path: a.md, line: 3"),
        ({"n": 3}, "n: 3"),
        ({"query": "x" * 200}, "x" * (ARGUMENT_CHARS - 1) + "…"),
    ],
)
def test_the_arguments_are_shown_in_short(arguments: dict[str, Any], gist: str) -> None:
    (card,) = cards(taken([called("c0", **arguments)]))
    assert card.argument == gist


def test_what_a_subagent_does_is_inside_of_the_call_that_started_it() -> None:
    answer = taken(
        [
            called("c0", "running", name="delegate_librarian"),
            Content(content="not shown", parent="c0"),
            called("c0/1", "running", parent="c0"),
            result("c0/1", ok=False, parent="c0"),
            notice(),
        ]
    )
    (card,) = cards(answer)
    assert [(inner.call_id, inner.status) for inner in card.inner] == [("c0/1", "failed")]
    assert card.status == "running"
    assert not answer.has_words


def test_what_a_subagent_of_nobody_does_is_ignored() -> None:
    assert taken([called("c1", parent="c0"), result("c1", parent="c0")]).parts == []


def test_a_subagents_call_is_its_own_though_its_id_is_that_of_its_parents_call() -> None:
    answer = taken(
        [
            called("call", "running", name="delegate_librarian"),
            called("call", "running", parent="call"),
            result("call", parent="call"),
        ]
    )
    (card,) = cards(answer)
    assert card.status == "running"
    assert [inner.status for inner in card.inner] == ["done"]


def test_two_subagents_may_give_their_calls_the_same_ids() -> None:
    answer = taken(
        [
            called("a", "running", name="delegate_librarian"),
            called("b", "running", name="delegate_librarian"),
            called("call", "running", parent="a"),
            called("call", "running", parent="b"),
        ]
    )
    assert [len(card.inner) for card in cards(answer)] == [1, 1]


@pytest.mark.django_db
def test_the_details_of_a_call_are_its_own_though_a_subagent_uses_its_id() -> None:
    talk = Talk()
    chunks = stamped(
        [
            called("call", "running", name="delegate_librarian", question="Who leads it?"),
            called("call", "running", parent="call", query="leads"),
            result("call", parent="call", text="of the librarian"),
            result("call", text="of the agent"),
        ]
    )
    said(talk.first, chunks)
    found = call_of(talk.first.run_id, 0)
    assert found is not None
    assert (found.call.name, found.text) == ("delegate_librarian", "of the agent")


# -- details --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_calls_are_numbered_as_their_cards_are() -> None:
    talk = Talk()
    chunks = stamped(
        [
            called("a", name="delegate_librarian"),
            called("b", name="two"),
            called("a", "running", name="delegate_librarian"),
            called("a/1", name="three", parent="a"),
            result("a/1", parent="a", text="inner"),
            called("b", "running", name="two"),
            Content(content="So."),
            called("c", name="four"),
            result("b", text="of two"),
        ]
    )
    said(talk.first, chunks)
    answer = taken(chunks)
    shown = [card for outer in cards(answer) for card in (outer, *outer.inner)]
    assert sorted(card.number for card in shown) == [0, 1, 2, 3]
    for card in shown:
        found = call_of(talk.first.run_id, card.number)
        assert found is not None
        assert (found.call.id, found.call.name) == (card.call_id, card.name)
    two = call_of(talk.first.run_id, 1)
    assert two is not None
    assert two.text == "of two"
    assert call_of(talk.first.run_id, 4) is None


# -- notices and the end --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system_type", "severity", "tone"),
    [
        ("limit_warning", "warning", "limit"),
        ("limit_reached", "error", "error"),
        ("cancelled", "error", "neutral"),
        ("notification", "info", "neutral"),
        ("provider", "error", "error"),
    ],
)
def test_amber_is_for_limits_red_for_errors_grey_for_the_rest(
    system_type: str, severity: str, tone: str
) -> None:
    assert NoticePart("n", system_type, severity, "", {}).tone == tone


def test_an_error_is_shown_unless_a_notice_has_just_said_the_same() -> None:
    error = Error(code="provider_error", error="It does not answer.")
    assert len(taken([notice("It does not answer."), error]).parts) == 1
    assert len(taken([notice("Something else."), error]).parts) == 2
    assert len(taken([notice("It does not answer."), Content(content="x"), error]).parts) == 3


@pytest.mark.parametrize(
    ("reason", "offers"), [("completed", False), ("max_iterations", True), ("user_cancelled", True)]
)
def test_the_last_notice_of_a_run_that_ended_early_offers_what_to_do(
    reason: str, offers: bool
) -> None:
    warned = notice("First.")
    answer = taken([warned, notice("Last.", "limit_reached"), done(reason)])
    assert [part.offers for part in answer.parts if isinstance(part, NoticePart)] == [False, offers]


@pytest.mark.parametrize("reason", ["max_iterations", "token_budget", "timeout"])
def test_a_run_that_ended_early_offers_to_go_on_whatever_its_last_part_is(reason: str) -> None:
    limit = notice("All turns are used.", "limit_reached")
    answer = taken(stamped([limit, Content(content="So far."), done(reason)]))
    page = Dom(whole(answer, a_run()))
    assert "continue" in [e.attributes.get("value") for e in page.root.walk()]


def test_the_usage_is_counted_by_turns_and_corrected_at_the_end() -> None:
    turn = Turn(number=1, phase="end", answered=True, prompt_tokens=10, completion_tokens=5)
    answer = taken([Turn(number=1, phase="start"), turn, turn])
    assert (answer.usage.turns, answer.usage.tokens) == (2, 30)
    answer.take(ContextUpdate(context_tokens=100, max_context_tokens=1_000))
    assert (answer.usage.context, answer.usage.window) == (100, 1_000)
    answer.take(done(tokens_used=345))
    assert (answer.usage.turns, answer.usage.tokens) == (2, 345)


def test_a_turn_that_the_model_did_not_answer_is_not_counted() -> None:
    answer = taken([Turn(number=1, phase="end", answered=False, prompt_tokens=10)])
    assert (answer.usage.turns, answer.usage.tokens) == (0, 10)


@pytest.mark.parametrize(
    ("chunks", "doing"),
    [
        ([Thinking(content="Hm")], "Thinking"),
        ([Content(content="So")], "Generating"),
        ([called("c0", name="vault_search")], "Using vault_search"),
        ([Content(content="So"), done()], "Answer complete"),
        ([Content(content="So"), done("max_iterations")], "Answer complete"),
        ([Content(content="So"), done("user_cancelled")], "Stopped"),
    ],
)
def test_those_who_listen_are_told_what_is_going_on(chunks: list[Chunk], doing: str) -> None:
    assert taken(chunks).doing == doing


# -- what a page has to be told -------------------------------------------------------------------


def test_what_is_fresh_is_not_also_changed() -> None:
    answer = taken([Content(content="So"), called("c0"), result("c0")])
    assert (len(answer.fresh), answer.changed) == (2, [])


def test_what_changes_after_it_was_shown_is_told_again() -> None:
    answer = taken([called("c0")])
    answer.settle()
    answer.take(result("c0"))
    assert answer.fresh == []
    assert [thing.id for thing in answer.changed] == [f"r{RUN.hex[:12]}-c0"]
    answer.settle()
    assert answer.changed == []


def test_settling_forgets_what_was_new() -> None:
    answer = taken([Source(source=SourceRef("a.md", "vault")), done()])
    assert answer.sources_changed
    assert answer.just_ended
    answer.settle()
    left = [answer.sources_changed, answer.usage_changed, answer.just_ended]
    assert left == [False] * 3


def test_what_a_subagent_has_read_is_a_source_too() -> None:
    read = Source(source=SourceRef("notes/tide.md", "vault", 3), parent="c0")
    answer = taken(stamped([called("c0", "running", name="delegate_librarian"), read]))
    assert [source.path for source in answer.sources.values()] == ["notes/tide.md"]
