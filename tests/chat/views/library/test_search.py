"""Search in the library."""

import pytest

from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry
from chat.library.search_hits import MAX_HITS
from tests.chat.views.library.conftest import Shelf
from tests.support.code import add_code
from tests.support.notes import add_note, add_notes
from tests.support.pages import Page, problems

HTMX = {"HX-Request": "true"}


def test_hits_lead_to_the_heading_that_has_the_words(shelf: Shelf) -> None:
    add_note(shelf.project, "Deep.md", "# Sea\n\nwide\n\n## How deep\n\nA fathom of zinc.\n")
    html = shelf.rea.get(shelf.address("search/"), {"q": "fathom zinc quay"}).content.decode()
    assert problems(html) == []
    links = [a["href"] for a in Page(html).all("a")]
    assert shelf.address("notes/Deep.md?at=h-how-deep#h-how-deep") in links
    assert shelf.address("notes/Harbour.md") in links


def test_of_very_many_hits_the_best_are_shown_and_it_is_said(shelf: Shelf) -> None:
    add_notes(shelf.project, **{f"n{number}": "zinc" for number in range(MAX_HITS)})
    html = shelf.ada.get(shelf.address("search/"), {"q": "zinc"}).content.decode()
    assert f"The best {MAX_HITS} hits." in html
    html = shelf.ada.get(shelf.address("search/"), {"q": "quay"}).content.decode()
    assert "The best" not in html


def test_words_that_no_note_has_are_named(shelf: Shelf) -> None:
    html = shelf.ada.get(shelf.address("search/"), {"q": "quay zebra"}).content.decode()
    assert Page(html).text("s") == "zebra"


def test_while_one_types_only_the_hits_are_sent(shelf: Shelf) -> None:
    response = shelf.ada.get(shelf.address("search/"), {"q": "quay"}, headers=HTMX)
    html = response.content.decode()
    assert "Harbour.md" in html
    assert "<html" not in html
    (status,) = (p for p in Page(html).all("p") if p.get("role") == "status")
    assert status["hx-swap-oob"] == "true"


def test_a_search_may_be_kept_to_a_folder_or_a_tag(shelf: Shelf) -> None:
    def find(**more: str) -> bool:
        given = {"q": "quay", **more}
        html = shelf.ada.get(shelf.address("search/"), given, headers=HTMX).content.decode()
        return "Harbour.md" in html

    assert find(tag="water")
    assert not find(tag="fire")
    assert not find(**{"in": "plan"})


@pytest.mark.parametrize("query", ["", " ", "\0", '"', "NEAR(", "a" * 5_000, "*", "'; drop"])
def test_any_words_can_be_looked_for(shelf: Shelf, query: str) -> None:
    response = shelf.ada.get(shelf.address("search/"), {"q": query, "in": "../x", "tag": query})
    assert response.status_code == 200
    assert problems(response.content.decode()) == []


def fill(shelf: Shelf) -> None:
    """A note, an entry and a file that have one word."""
    add_note(shelf.project, "Quartz.md", "The quartz of it.\n")
    push_entry(shelf.project.pk, "power", NewEntry("We decided on quartz."), Author.importer())
    add_code(shelf.project, "src/clock.py", "x = 1\nquartz = <b>\n")


PLACES = {
    "notes": "notes/Quartz.md",
    "threads": "threads/power/?entry=1#entry-1",
    "code": "code/files/src/clock.py?line=2#L2",
}


@pytest.mark.parametrize("kind", ["all", "notes", "threads", "code", "", "nonsense"])
def test_notes_threads_and_code_are_found_by_one_search(shelf: Shelf, kind: str) -> None:
    fill(shelf)
    html = shelf.rea.get(shelf.address("search/"), {"q": "quartz", "type": kind}).content.decode()
    assert problems(html) == []
    links = {a["href"] for a in Page(html).all("a")}
    found = {name for name, place in PLACES.items() if shelf.address(place) in links}
    assert found == ({kind} if kind in PLACES else set(PLACES))


def test_a_tag_or_a_folder_is_of_notes_alone(shelf: Shelf) -> None:
    fill(shelf)
    html = shelf.ada.get(shelf.address("search/"), {"q": "quartz quay", "tag": "water"})
    assert "clock.py" not in html.content.decode()
    assert "Harbour.md" in html.content.decode()


def test_only_words_that_nothing_has_are_named(shelf: Shelf) -> None:
    fill(shelf)
    given = {"q": "quartz clock zebra"}
    html = shelf.ada.get(shelf.address("search/"), given).content.decode()
    assert Page(html).text("s") == "zebra"


def test_the_beginning_of_a_word_finds_notes_threads_and_code(shelf: Shelf) -> None:
    add_note(shelf.project, "Deep.md", "A zincography.\n")
    push_entry(shelf.project.pk, "log", NewEntry("More zincography."), Author.importer())
    add_code(shelf.project, "zinc.py", "def draw_zincography():\n    pass\n")
    html = shelf.ada.get(shelf.address("search/"), {"q": "zincog"}, headers=HTMX).content.decode()
    hits = [a["href"].partition("?")[0] for a in Page(html).all("a")]
    ends = ("notes/Deep.md", "threads/log/", "code/files/zinc.py")
    assert [end for end in ends if not any(end in hit for hit in hits)] == []
