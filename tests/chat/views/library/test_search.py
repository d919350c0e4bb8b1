"""Search in the library."""

import pytest

from tests.chat.views.library.conftest import Shelf
from tests.support.notes import add_note
from tests.support.pages import Page, problems

HTMX = {"HX-Request": "true"}


def test_hits_lead_to_the_heading_that_has_the_words(shelf: Shelf) -> None:
    add_note(shelf.project, "Deep.md", "# Sea\n\nwide\n\n## How deep\n\nA fathom of zinc.\n")
    html = shelf.rea.get(shelf.address("search/"), {"q": "fathom zinc quay"}).content.decode()
    assert problems(html) == []
    links = [a["href"] for a in Page(html).all("a")]
    assert shelf.address("notes/Deep.md?at=h-how-deep#h-how-deep") in links
    assert shelf.address("notes/Harbour.md") in links


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
