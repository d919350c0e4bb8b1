"""Whatever is typed into a search or stands in a note: a plain reading, never an error."""

import pytest

from agents.models import Project
from agents.search.index import SearchableText, get_scope, index_documents
from agents.search.search import find_code_with, search
from tests.support import hostile

from .conftest import IndexNotes, check_integrity

SYNTAX = [
    '"',
    '"quay',
    "quay\"'",
    "NEAR(quay crane, 5)",
    "quay*",
    "^quay",
    "body_terms : quay",
    "-scope : quay",
    "{title_terms} : quay",
    "quay AND",
    "OR NOT",
    "(quay",
    "'quay' & !crane",
    "quay:*",
    "quay <-> crane",
    "\\",
    "%s %(x)s",
    "quay\x00crane",
    "\ud800quay",
    "\ufeffquay\u200b",
    "quay;--",
    "e\u0301" * 300,
    "東" * 500,
    "ก" * 500,
    "😀🏳️‍🌈",
    "½⑴㎏ﷺ",
    "a" * 10_000,
    "quay " * 2_500,
    " ".join(f"w{number}" for number in range(3_000)),
]


@pytest.mark.parametrize("query", ["", " ", "\n\t", "?!…", "_", "\x00", "\ud800", "-- ;"])
def test_a_query_without_words_finds_nothing(
    project: Project, index_notes: IndexNotes, query: str
) -> None:
    index_notes(a="quay")
    found = search(project.pk, [query])
    assert (found.hits, found.missing_words) == ((), ())


@pytest.mark.parametrize("query", SYNTAX, ids=range(len(SYNTAX)))
def test_syntax_is_read_as_words(project: Project, index_notes: IndexNotes, query: str) -> None:
    index_notes(a="the quay", b="a crane")
    found = search(project.pk, [query])
    assert any(hit.path == "a.md" for hit in found.hits) == ("quay" in query)


@pytest.mark.parametrize("query", SYNTAX, ids=range(len(SYNTAX)))
def test_syntax_in_a_name_of_code_is_no_syntax(project: Project, query: str) -> None:
    text = SearchableText("code", 1, "a.py", text="readgauge read_gauge")
    index_documents(project.pk, [text])
    assert find_code_with(project.pk, "read_gauge", 5) == [1]
    assert find_code_with(project.pk, f"read_{query}_gauge", 5) in ([], [1])
    assert find_code_with(project.pk, f'read_gauge") OR ("gauge{query}', 5) == []


def test_syntax_as_a_note_is_found_as_words(project: Project) -> None:
    texts = [
        SearchableText("note", number, f"{number}.md", query, query, f"# {query}\n{query}")
        for number, query in enumerate(SYNTAX)
    ]
    index_documents(project.pk, texts)
    check_integrity()
    assert len(search(project.pk, ["quay"], limit=50).hits) == sum("quay" in q for q in SYNTAX)


def test_the_token_of_a_project_is_a_word_like_others(project: Project) -> None:
    other = Project.objects.create(name="Other", slug="other")
    scope = get_scope(project.pk, "note")
    text = f"quay {scope} @{scope} scope:{scope}"
    index_documents(other.pk, [SearchableText("note", 1, "spy.md", scope, scope, text)])
    for query in ("quay", scope, f"@{scope}", f"scope : {scope}"):
        assert search(project.pk, [query]).hits == ()
        assert len(search(other.pk, [query]).hits) == 1


def test_payloads_are_searched_and_indexed_as_text(project: Project) -> None:
    names = ("xss_rsnake.txt", "xss_jhaddix.txt", "xss_alert.txt", "traversal.txt")
    payloads = [*hostile.OURS, *hostile.naughty(), *(p for n in names for p in hostile.lines(n))]
    texts = [
        SearchableText("note", number, f"{number} {payload}.md", payload, payload, payload)
        for number, payload in enumerate(payloads)
    ]
    index_documents(project.pk, texts)
    check_integrity()
    for payload in payloads[:: max(1, len(payloads) // 50)]:
        search(project.pk, [payload])
