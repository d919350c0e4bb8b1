"""The pages of tags."""

import pytest

from tests.chat.views.library.conftest import Shelf
from tests.support.notes import add_note
from tests.support.pages import Page, problems


def test_tags_lead_to_the_notes_that_have_them_or_one_below(shelf: Shelf) -> None:
    add_note(shelf.project, "deep.md", "#water/deep\n")
    html = shelf.rea.get(shelf.address("tags/")).content.decode()
    assert problems(html) == []
    links = [a["href"] for a in Page(html).all("a")]
    assert "?tag=water" in links
    assert "?tag=water%2Fdeep" in links
    tagged = shelf.rea.get(shelf.address("tags/?tag=water")).content.decode()
    assert problems(tagged) == []
    assert {"Harbour.md", "deep.md"} <= set(Page(tagged).text("span").split())


@pytest.mark.parametrize("tag", ["nothing", "\0", "<b>", "%", "#", "x" * 3_000])
def test_any_tag_can_be_asked_for(shelf: Shelf, tag: str) -> None:
    response = shelf.rea.get(shelf.address("tags/"), {"tag": tag})
    assert response.status_code == 200
    assert problems(response.content.decode()) == []
