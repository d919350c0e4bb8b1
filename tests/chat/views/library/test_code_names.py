"""The pages of names in code, and of its map."""

import pytest

from tests.chat.views.library.conftest import Shelf
from tests.support.code import add_gauge
from tests.support.pages import Page, problems


@pytest.fixture(autouse=True)
def gauge(shelf: Shelf) -> None:
    add_gauge(shelf.project)


def open_page(shelf: Shelf, address: str, **given: str) -> str:
    html = shelf.rea.get(shelf.address(address), given).content.decode()
    assert problems(html) == []
    return html


def links(html: str) -> list[str]:
    return [a["href"] for a in Page(html).all("a")]


def test_a_name_is_shown_where_it_is_defined(shelf: Shelf) -> None:
    html = open_page(shelf, "code/names/", name="Gauge.read")
    assert "1 definition" in html
    assert "method Gauge.read" in html
    assert shelf.address("code/files/src/gauge.py?line=2#L2") in links(html)


def test_uses_are_grouped_by_how_sure_they_are(shelf: Shelf) -> None:
    html = open_page(shelf, "code/names/", name="read")
    assert shelf.address("code/files/src/gauge.py?line=6#L6") in links(html)
    titles = [
        title for title in ("Certain", "Likely", "Same name only") if f">{title}</h3>" in html
    ]
    assert titles


@pytest.mark.parametrize("name", ["", " ", "nothing", "..", "a" * 500, "\0", "%", "read("])
def test_any_name_can_be_looked_for(shelf: Shelf, name: str) -> None:
    assert open_page(shelf, "code/names/", name=name)


def test_a_map_is_a_tree_of_folders_files_and_definitions(shelf: Shelf) -> None:
    html = open_page(shelf, "code/map/")
    assert {
        shelf.address("code/files/src/gauge.py"),
        shelf.address("code/files/src/gauge.py?line=2#L2"),
    } <= set(links(html))


@pytest.mark.parametrize(
    ("scope", "tokens"), [("src", "1000"), ("nowhere", "x"), ("where is it read?", "9"), ("\0", "")]
)
def test_any_map_can_be_asked_for(shelf: Shelf, scope: str, tokens: str) -> None:
    assert open_page(shelf, "code/map/", scope=scope, tokens=tokens)
