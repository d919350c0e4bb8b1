"""Searching one's own conversations."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.conversations import commands, tree
from chat.conversations.search import MAX_HITS, Snippet, search_conversations
from chat.services import ask
from tests.chat.factories import Talk, grown, member, started

pytestmark = pytest.mark.django_db


def list_matches(talk: Talk, query: str) -> list[str]:
    """The matches, as they are written."""
    return [hit.snippet.match for hit in search_conversations(talk.user, query)]


def test_titles_questions_and_answers_are_searched_in_any_case() -> None:
    talk = Talk("Where is the HARBOUR?")
    later = talk.ask("Which gauge?", answer="The one at the harbour wall.")
    hits = search_conversations(talk.user, "Harbour")
    assert [(h.exchange, h.snippet.match) for h in hits] == [
        (None, "HARBOUR"),
        (later, "harbour"),
        (talk.first, "HARBOUR"),
    ]
    assert {h.conversation.pk for h in hits} == {talk.id}
    assert hits[1].snippet == Snippet("The one at the ", "harbour", " wall.")


def test_every_word_must_occur_in_one_exchange() -> None:
    talk = Talk("x?")
    both = talk.ask("Is the gauge dry?", answer="Yes: no tide.")
    talk.ask("Is the gauge wet?", answer="No.")
    assert [h.exchange for h in search_conversations(talk.user, "tide gauge")] == [both]


def test_case_does_not_matter_beyond_ascii() -> None:
    talk = Talk("Wie hoch ist das \u00d6lfa\u00df?")
    assert list_matches(talk, "\u00f6lfa\u00df") == ["\u00d6lfa\u00df", "\u00d6lfa\u00df"]
    assert list_matches(talk, "\u00d6LFA") == ["\u00d6lfa", "\u00d6lfa"]


@pytest.mark.parametrize(
    "text",
    [
        "100%",
        "a_b",
        "'quoted'",
        '"exact"',
        "back\\slash",
        "a*b",
        "NEAR(x)",
        "title:",
        "-not",
        "(?:x)",
    ],
)
def test_patterns_and_operators_are_plain_text(text: str) -> None:
    talk = Talk("Nothing of the kind, 100 axb")
    assert list_matches(talk, text) == []
    talk.ask("What then?", answer=f"here: {text}!")
    assert list_matches(talk, text) == [text]


def test_others_deleted_and_pruned_ones_are_not_found() -> None:
    talk = Talk("The secret gauge?")
    one = talk.ask("A secret branch?")
    talk.edit(one, "Something else?")
    bob, _ = member("bob", talk.project)
    assert search_conversations(bob, "secret") == []
    assert len(search_conversations(talk.user, "branch")) == 1
    tree.prune(talk.now)
    assert search_conversations(talk.user, "branch") == []
    commands.delete(talk.now)
    assert search_conversations(talk.user, "secret") == []


def test_titles_given_by_hand_are_found() -> None:
    talk = Talk()
    commands.rename(talk.now, "Storm of 1976")
    assert list_matches(talk, "storm 1976") == ["Storm"]


def test_hits_are_bounded_and_so_are_their_snippets() -> None:
    talk = Talk("tide " * 1_000)
    grown(talk, 50, answer="x" * 5_000 + " tide\n\n " + "y" * 5_000)
    with CaptureQueriesContext(connection) as queries:
        hits = search_conversations(talk.user, "tide")
    assert len(queries) == 2
    assert len(hits) == MAX_HITS
    for hit in hits:
        shown = hit.snippet.before + hit.snippet.match + hit.snippet.after
        assert len(shown) < 200
        assert "\n" not in shown
    assert hits[-1].snippet.before.startswith("\u2026x")
    assert hits[-1].snippet.after.endswith("y\u2026")


def test_many_titles_leave_no_room_for_more() -> None:
    talk = Talk("tide?")
    for _ in range(3):
        started(ask.start_conversation(talk.user, talk.project.pk, "tide?"))
    assert [h.exchange for h in search_conversations(talk.user, "tide", limit=4)] == [None] * 4
    assert search_conversations(talk.user, "tide", limit=0) == []


def test_only_so_many_words_are_looked_for() -> None:
    talk = Talk("tide?")
    assert len(search_conversations(talk.user, "tide " * 8 + "absent")) == 2
    assert search_conversations(talk.user, "tide " * 7 + "absent") == []


@pytest.mark.parametrize("query", ["", "  \n", "\x00", "\ud800", "x" * 10_000, "qq " * 500])
def test_no_query_is_too_odd(query: str) -> None:
    assert search_conversations(Talk().user, query) == []
