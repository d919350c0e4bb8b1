"""Chunks sorted into parts: what is text, thinking, tools and notices, and what has changed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agents.core.chunks import (
    CHUNK_TYPES,
    Content,
    ContextUpdate,
    Decision,
    Error,
    EventRecord,
    Hint,
    KeptResult,
    OracleStreamChunk,
    Source,
    SourceRef,
    Status,
    SystemMessage,
    Thinking,
    Turn,
    kinds_read_by,
)
from agents.core.config import AgentConfig
from agents.core.loop import Control
from agents.core.notify.shipped import SHIPPED
from agents.core.rules.shipped import load_shipped_rules
from agents.runtime.endings import UNKNOWN_RESULTS
from chat.markdown import budget
from chat.rendering.answer import MAX_TEXT_PARTS, AnswerView
from chat.rendering.fragments import render_answer as whole
from chat.rendering.fragments import render_update
from chat.rendering.parts import NoticePart, TextPart, ToolCard, ToolsPart
from chat.rendering.tool_call import load_tool_call
from chat.rendering.tool_words import ARGUMENT_CHARS
from tests.agents.core.recorded_runs import chunks_of
from tests.chat.factories import Talk, said
from tests.chat.run_chunks import (
    RUN,
    a_run,
    called,
    done,
    notice,
    reached,
    result,
    stamped,
    wrapping_up,
)
from tests.support.dom import Dom, Element, difference, read
from tests.support.script import call, say

Shown = list[tuple[str, str]]


def taken(chunks: Sequence[OracleStreamChunk]) -> AnswerView:
    answer = AnswerView(RUN)
    for chunk in chunks:
        answer.apply(chunk)
    return answer


def turn_end(finish: str) -> Turn:
    return Turn(number=1, phase="end", answered=True, finish_reason=finish)


def cards(answer: AnswerView) -> list[ToolCard]:
    return [card for part in answer.parts if isinstance(part, ToolsPart) for card in part.cards]


def statuses(answer: AnswerView) -> Shown:
    return [(card.call_id, card.status) for card in cards(answer)]


# -- parts ----------------------------------------------------------------------------------------


def in_turns(text: str, size: int) -> list[OracleStreamChunk]:
    """Thinking and text, so many characters each."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [(Content, Thinking)[at % 2](content=piece) for at, piece in enumerate(pieces)]


def test_an_answer_has_one_budget_however_many_parts_it_is_in() -> None:
    answer = taken(in_turns("[" * 100_000, 500))
    assert len(answer.parts) == 200
    assert answer.cost < budget.MAX_ANSWER_COST + budget.MAX_BLOCK_COST + 100 * budget.LINE_COST
    parts = [part for part in answer.parts if isinstance(part, TextPart)]
    assert 'class="plain"' not in "".join(parts[0].closed)
    assert 'class="plain"' in "".join(parts[-2].closed)


def test_text_and_thinking_that_take_turns_without_end_are_told_apart_for_a_while() -> None:
    text = "word " * 2 * MAX_TEXT_PARTS
    answer = taken([*in_turns(text, len("word ")), called("c0"), Thinking(content="Hm.")])
    assert [part.template for part in answer.parts[-3:]] == ["thinking", "tools", "thinking"]
    assert len(answer.parts) == MAX_TEXT_PARTS + 2
    shown = Dom(whole(answer, a_run())).root.text
    assert shown.count("word") == 2 * MAX_TEXT_PARTS


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


UNSHOWN = [
    Hint(text="Be brief."),
    EventRecord(name="query.start", severity="info", source="loop", payload={}, texts={}),
    KeptResult(tool_call_id="c1", tool_result="Long.", duration_ms=1, order=0),
    Status(tools=("look",), seconds=1.0),
    Decision(checkpoint="turn", goes_on=True, reason="", tree="default", checks=()),
]


@pytest.mark.parametrize("chunk", UNSHOWN)
def test_what_is_for_the_audit_is_not_shown(chunk: OracleStreamChunk) -> None:
    answer = taken([chunk])
    assert (answer.parts, answer.changed_parts, answer.usage_changed) == ([], [], False)


def test_pages_read_every_chunk_but_those_that_are_not_shown() -> None:
    assert {*CHUNK_TYPES} - {*kinds_read_by("pages")} == {chunk.type for chunk in UNSHOWN}


def test_the_cursor_is_the_number_of_the_last_chunk() -> None:
    assert taken([Content(content="a", seq=7), Hint(text="x", seq=8)]).last_seq == 8


def test_thinking_and_text_are_the_models_words_and_nothing_else_is() -> None:
    assert not taken([called("c0"), notice()]).has_text
    assert taken([Thinking(content="Hm")]).has_text
    assert taken([Content(content="So")]).has_text


# -- tools ----------------------------------------------------------------------------------------


def test_a_call_is_queued_then_running_then_done() -> None:
    answer = taken([called("c0")])
    assert statuses(answer) == [("c0", "queued")]
    answer.apply(called("c0", "running"))
    assert statuses(answer) == [("c0", "running")]
    answer.apply(result("c0"))
    assert statuses(answer) == [("c0", "done")]
    assert cards(answer)[0].seconds == 1.2


@pytest.mark.parametrize(
    ("chunks", "status"),
    [
        ([called("c0", "running"), result("c0", ok=False)], "failed"),
        ([called("c0", "refused"), result("c0", ok=False)], "refused"),
        (
            [
                called("c0", "running"),
                replace(result("c0", ok=False), tool_result=UNKNOWN_RESULTS["interrupted"]),
            ],
            "unknown",
        ),
    ],
)
def test_a_call_that_failed_is_told_from_one_that_was_refused_or_cut(
    chunks: list[OracleStreamChunk], status: str
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
        answer.apply(result(f"c{n}"))
    assert not part.is_folded
    answer.apply(Content(content="So."))
    assert not part.is_folded  # one is still under way
    answer.apply(result(f"c{calls - 1}"))
    assert part.is_folded is folded


@pytest.mark.parametrize(
    ("arguments", "gist"),
    [
        ({}, ""),
        ({"query": "salt  \n water"}, "salt water"),
        ({"path": "a.md", "line": 3}, "path: a.md, line: 3"),
        ({"n": 3}, "n: 3"),
        ({"queries": ["salt", "sea water"]}, "salt, sea water"),
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
    assert [(inner.call_id, inner.status) for inner in card.subagent_cards] == [("c0/1", "failed")]
    assert card.status == "running"
    assert not answer.has_text


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
    assert [inner.status for inner in card.subagent_cards] == ["done"]


def test_two_subagents_may_give_their_calls_the_same_ids() -> None:
    answer = taken(
        [
            called("a", "running", name="delegate_librarian"),
            called("b", "running", name="delegate_librarian"),
            called("call", "running", parent="a"),
            called("call", "running", parent="b"),
        ]
    )
    assert [len(card.subagent_cards) for card in cards(answer)] == [1, 1]


def delegated(*inner: OracleStreamChunk, ok: bool) -> list[OracleStreamChunk]:
    """A call, what its subagent did, and how it ended."""
    begun = called("c0", "running", name="delegate_librarian")
    return stamped([begun, *inner, result("c0", ok=ok)])


@pytest.mark.parametrize("ok", [True, False])
def test_of_a_subagent_that_did_not_finish_only_the_fact_is_shown(ok: bool) -> None:
    inner = called("c1", "running", parent="c0", query="tides")
    (card,) = cards(taken(delegated(inner, result("c1", parent="c0"), ok=ok)))
    assert card.is_discarded is not ok
    assert [inner.argument for inner in card.subagent_cards] == (["tides"] if ok else [])


def test_a_subagent_that_only_wrote_is_told_of_too_and_a_failed_tool_is_none() -> None:
    (card,) = cards(taken(delegated(Content(content="half", parent="c0"), ok=False)))
    assert card.is_discarded
    (card,) = cards(taken(delegated(ok=False)))
    assert not card.is_discarded


def test_what_a_subagent_does_after_its_call_has_ended_is_not_shown() -> None:
    answer = taken(delegated(Content(content="half", parent="c0"), ok=False))
    late: list[OracleStreamChunk] = [
        called("c1", "running", parent="c0"),
        Source(source=SOURCE, parent="c0"),
    ]
    for chunk in stamped(late):
        answer.apply(chunk)
    assert cards(answer)[0].subagent_cards == []
    assert not answer.sources


SOURCE = SourceRef("tide.md", "vault", 3)


def test_what_only_an_unfinished_subagent_has_read_is_no_source() -> None:
    read = Source(source=SOURCE, parent="c0")
    answer = taken(delegated(read, ok=False))
    assert not answer.sources
    assert answer.sources_changed
    assert list(taken(delegated(read, ok=True)).sources) == [SOURCE]
    both = taken([*delegated(read, Source(source=SOURCE), ok=False)])
    assert list(both.sources) == [SOURCE]


@pytest.mark.django_db
@pytest.mark.parametrize("ok", [True, False])
def test_the_page_of_a_subagents_call_says_when_it_was_not_kept(ok: bool) -> None:
    talk = Talk()
    inner = called("c1", "running", parent="c0", query="tides")
    said(talk.first, delegated(inner, result("c1", parent="c0", text="found"), ok=ok))
    outer, of_subagent = load_tool_call(talk.first.run_id, 0), load_tool_call(talk.first.run_id, 1)
    assert outer is not None
    assert of_subagent is not None
    assert not outer.is_discarded
    assert of_subagent.is_discarded is not ok


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
    found = load_tool_call(talk.first.run_id, 0)
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
    shown = [card for outer in cards(answer) for card in (outer, *outer.subagent_cards)]
    assert sorted(card.number for card in shown) == [0, 1, 2, 3]
    for card in shown:
        found = load_tool_call(talk.first.run_id, card.number)
        assert found is not None
        assert (found.call.id, found.call.name) == (card.call_id, card.name)
    two = load_tool_call(talk.first.run_id, 1)
    assert two is not None
    assert two.text == "of two"
    assert load_tool_call(talk.first.run_id, 4) is None


# -- notices and the end --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system_type", "severity", "tone"),
    [
        ("limit_warning", "warning", "limit"),
        ("limit_reached", "error", "limit"),
        ("limit_reached", "info", "limit"),
        ("no_progress", "error", "limit"),
        ("error_limit", "error", "limit"),
        ("loop_warning", "warning", "limit"),
        ("tool_limit", "warning", "limit"),
        ("context_warning", "warning", "limit"),
        ("cancelled", "error", "neutral"),
        ("notification", "warning", "neutral"),
        ("provider", "info", "neutral"),
        ("provider", "warning", "error"),
        ("interrupted", "error", "error"),
        ("error", "error", "error"),
    ],
)
def test_the_colour_follows_the_type_of_a_notice_not_its_severity(
    system_type: str, severity: str, tone: str
) -> None:
    assert NoticePart("n", system_type, severity, "", {}).level == tone


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
    limit = notice("All iterations are used.", "limit_reached")
    answer = taken(stamped([limit, Content(content="So far."), done(reason)]))
    page = Dom(whole(answer, a_run()))
    assert "continue" in [e.attributes.get("value") for e in page.root.walk()]


def rows(answer: AnswerView) -> list[str]:
    """The notices from top to bottom, and where the text is."""
    page = Dom(whole(answer, a_run()))
    shown = [e for e in page.root.walk() if {"notice", "prose"} & set(_classes(e))]
    return [
        e.attributes.get("data-type", "text") for e in shown if "explanation" not in _classes(e)
    ]


def _classes(element: Element) -> list[str]:
    return element.attributes.get("class", "").split()


def test_a_wrap_up_is_told_below_its_text_and_replaced_by_its_limit() -> None:
    so_far: list[OracleStreamChunk] = [
        Content(content="I look."),
        notice("Approaching.", phase="approach"),
        wrapping_up(),
    ]
    answer = taken([*so_far, Content(content="It is so.")])
    assert rows(answer) == ["text", "limit_warning", "text", "limit_warning"]
    assert answer.closing is not None
    answer.apply(reached())
    answer.apply(done("max_iterations"))
    assert rows(answer) == ["text", "limit_warning", "text", "limit_reached"]
    assert answer.closing.offers
    assert not answer.offers_at_end


def test_the_text_of_a_wrap_up_is_a_part_of_its_own() -> None:
    answer = taken([Content(content="I look."), wrapping_up(), Content(content="It is so.")])
    assert [part.template for part in answer.parts] == ["text", "text"]


def test_calls_of_a_wrap_up_are_a_group_of_their_own() -> None:
    answer = taken([called("c0"), result("c0"), wrapping_up(), called("c1", "refused")])
    assert [part.template for part in answer.parts] == ["tools", "tools"]


@pytest.mark.parametrize("limit_type", ["iterations", "tokens", "time"])
def test_a_limit_makes_one_row_whatever_limit_brought_the_wrap_up(limit_type: str) -> None:
    """A last answer for want of iterations may hang until the time is over."""
    answer = taken([wrapping_up("tokens"), Content(content="So."), reached(limit_type)])
    assert rows(answer) == ["text", "limit_reached"]


def test_an_endpoint_that_fails_instead_of_a_last_answer_takes_the_place_of_its_row() -> None:
    failed = Error(code="provider_error", error="The model endpoint is gone.")
    answer = taken([wrapping_up(), failed, done("provider_error")])
    assert rows(answer) == ["error"]
    assert answer.closing is None


def failing_run(seconds: float) -> list[OracleStreamChunk]:
    """A run whose three turns each fail, with all that is shipped listening, so many seconds
    apart."""
    steps = [replace(call("fail", page=page), delay=seconds) for page in range(3)]
    control = Control(subscribers=SHIPPED, rules=load_shipped_rules())
    return chunks_of([*steps, say("So.")], AgentConfig(), control=control)


@pytest.mark.parametrize("seconds", [0, 3])
def test_three_failing_calls_make_one_row_in_which_the_end_leads(seconds: float) -> None:
    chunks = failing_run(seconds)
    assert sum(isinstance(chunk, SystemMessage) for chunk in chunks) == 3
    answer = taken(chunks)
    assert rows(answer) == ["error_limit", "text"]
    (row,) = (p for p in answer.parts if isinstance(p, NoticePart) and not p.is_moved)
    assert len(row.folded) == 2
    assert row.offers
    html = whole(answer, a_run())
    assert "Tools failed 3 times in a row (limit 3)." in html
    assert "2 notices" in html


def test_a_page_that_follows_failing_calls_shows_the_row_that_a_reload_shows() -> None:
    chunks = failing_run(3)
    followed = taken([])
    dom = Dom(whole(followed, a_run()) + '<div id="meters"></div>')
    for chunk in chunks:
        followed.apply(chunk)
        dom.apply(render_update(followed, a_run()))
    assert (
        difference(dom.get(followed.id), Dom(whole(taken(chunks), a_run())).get(followed.id)) == ""
    )


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (notice("Stopped.", "cancelled"), "cancelled"),
        (notice("The server stopped.", "interrupted"), "interrupted"),
        (Error(code="internal_error", error="Something went wrong."), "error"),
    ],
)
def test_what_else_ends_a_wrap_up_is_told_after_it(ending: OracleStreamChunk, kind: str) -> None:
    answer = taken([wrapping_up(), Content(content="So"), ending, done("user_cancelled")])
    assert rows(answer) == ["text", "limit_warning", kind]
    assert answer.closing is None


def test_an_endpoint_that_fails_in_a_wrap_up_is_told_above_the_limit() -> None:
    failed = notice("The last answer could not be finished.", "provider")
    answer = taken([wrapping_up(), failed, reached(), done("max_iterations")])
    assert rows(answer) == ["provider", "limit_reached"]
    assert answer.closing is not None
    assert answer.closing.offers


def test_the_usage_is_counted_by_turns_and_corrected_at_the_end() -> None:
    turn = Turn(number=1, phase="end", answered=True, prompt_tokens=10, completion_tokens=5)
    answer = taken([Turn(number=1, phase="start"), turn, turn])
    assert (answer.usage.turns, answer.usage.tokens) == (2, 30)
    answer.apply(ContextUpdate(context_tokens=100, max_context_tokens=1_000))
    assert (answer.usage.context, answer.usage.window) == (100, 1_000)
    answer.apply(done(tokens_used=345))
    assert (answer.usage.turns, answer.usage.tokens) == (2, 345)


def test_a_turn_that_the_model_did_not_answer_is_not_counted() -> None:
    answer = taken([Turn(number=1, phase="end", answered=False, prompt_tokens=10)])
    assert (answer.usage.turns, answer.usage.tokens) == (0, 10)


@pytest.mark.parametrize(
    ("chunks", "doing"),
    [
        ([Thinking(content="Hm")], "Thinking"),
        ([Content(content="So")], "Generating"),
        ([called("c0", name="vault_search")], "Using a tool: Search notes"),
        ([Content(content="So"), done()], "Answer complete"),
        ([Content(content="So"), done("max_iterations")], "Answer complete"),
        ([Content(content="So"), done("user_cancelled")], "Stopped"),
        ([Content(content="So"), done("provider_error")], "The run failed"),
        ([Content(content="So"), turn_end("stop"), done("max_iterations")], "Answer complete"),
        ([Content(content="So"), turn_end("deadline"), done("timeout")], "Answer cut off"),
        ([Content(content="So"), turn_end("length"), done("output_truncated")], "Answer cut off"),
        ([done("token_budget")], "Ended without an answer"),
        ([Thinking(content="Hm"), called("c0"), done("timeout")], "Ended without an answer"),
    ],
)
def test_those_who_listen_are_told_what_is_going_on(
    chunks: list[OracleStreamChunk], doing: str
) -> None:
    assert taken(chunks).activity == doing


# -- what a page has to be told -------------------------------------------------------------------


def test_what_is_fresh_is_not_also_changed() -> None:
    answer = taken([Content(content="So"), called("c0"), result("c0")])
    assert (len(answer.new_parts), answer.changed_parts) == (2, [])


def test_what_changes_after_it_was_shown_is_told_again() -> None:
    answer = taken([called("c0")])
    answer.mark_sent()
    answer.apply(result("c0"))
    assert answer.new_parts == []
    assert [thing.id for thing in answer.changed_parts] == [f"r{RUN.hex[:12]}-c0"]
    answer.mark_sent()
    assert answer.changed_parts == []


def test_settling_forgets_what_was_new() -> None:
    answer = taken([Source(source=SourceRef("a.md", "vault")), done()])
    assert answer.sources_changed
    assert answer.just_ended
    answer.mark_sent()
    left = [answer.sources_changed, answer.usage_changed, answer.just_ended]
    assert left == [False] * 3


def test_what_a_subagent_has_read_is_a_source_too() -> None:
    read = Source(source=SourceRef("notes/tide.md", "vault", 3), parent="c0")
    answer = taken(stamped([called("c0", "running", name="delegate_librarian"), read]))
    assert [source.path for source in answer.sources] == ["notes/tide.md"]


def summarised(*inner: OracleStreamChunk) -> AnswerView:
    """A search whose result a librarian summarised, perhaps long ago."""
    ended = replace(result("c0"), given="Short.")
    return taken([called("c0", "running"), *inner, ended])


def test_a_card_tells_what_its_librarian_cost_and_that_the_model_got_a_summary() -> None:
    answer = summarised(
        replace(turn_end("stop"), parent="c0", prompt_tokens=900, completion_tokens=100)
    )
    (card,) = cards(answer)
    assert (card.subagent_tokens, card.is_summarised, card.is_from_cache) == (1_000, True, False)
    said = "Too long for the model: a librarian gave it a summary. The librarian used 1,000 tokens."
    assert said in read(whole(answer, a_run())).text


def test_a_card_tells_that_a_librarian_is_reading_and_what_it_has_cost_so_far() -> None:
    inner = replace(turn_end("tool_calls"), parent="c0", prompt_tokens=900, completion_tokens=100)
    answer = taken([called("c0", "running"), inner])
    assert "A librarian is reading: 1,000 tokens so far." in read(whole(answer, a_run())).text
    assert "used" not in whole(answer, a_run())


def test_a_summary_for_which_nobody_worked_is_from_the_cache() -> None:
    answer = summarised()
    assert cards(answer)[0].is_from_cache
    assert "From the librarian&#x27;s cache" in whole(answer, a_run()).replace("'", "&#x27;")


# -- what is not yet the answer -------------------------------------------------------------------


def interim(label: str, number: int = 1) -> Turn:
    return Turn(number=number, phase="start", interim=label)


def test_texts_before_the_answer_stand_folded_under_their_labels() -> None:
    chunks: list[OracleStreamChunk] = [
        interim("Draft"),
        Content(content="It may"),
        Content(content=" be so."),
        turn_end("stop"),
    ]
    chunks += [interim("Check", 2), Content(content="none"), turn_end("stop")]
    chunks += [interim("", 3), Content(content="It is so."), turn_end("stop"), done()]
    answer = taken(stamped(chunks))
    parts = [part for part in answer.parts if isinstance(part, TextPart)]
    assert [(part.kind, part.label) for part in parts] == [
        ("interim", "Draft"),
        ("interim", "Check"),
        ("text", ""),
    ]
    html = whole(answer, a_run())
    folded = html.partition("Draft")[2]
    assert "<details" in html.partition("Draft")[0]
    assert "It may be so." in folded
    assert answer.activity == "Answer complete"


def test_a_run_that_wrote_only_a_plan_has_no_answer() -> None:
    answer = taken(stamped([interim("Plan"), Content(content="1. Look"), done("behaviour_ended")]))
    assert answer.activity == "Ended without an answer"
    answer = taken(stamped([interim("Plan"), Content(content="1. Look")]))
    assert answer.activity == "Writing: Plan"


def test_two_turns_of_one_label_are_two_texts_and_tools_stay_cards() -> None:
    chunks: list[OracleStreamChunk] = [
        interim("Plan"),
        Content(content="a"),
        called("c1", "running"),
        result("c1", True),
    ]
    chunks += [turn_end("tool_calls"), interim("Plan", 2), Content(content="b"), turn_end("stop")]
    answer = taken(stamped(chunks))
    assert [part.template for part in answer.parts] == ["interim", "tools", "interim"]
