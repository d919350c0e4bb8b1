"""Names, tags, queries and texts that others collected to break pages."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from django.utils.http import urlencode

from agents.code.parsed_file import ParsedSymbol
from agents.core.sanitize import replace_unstorable
from agents.models import CodeCheckout
from agents.vault.errors import NoteRefused
from agents.vault.paths import validate_path
from tests.chat.views.library.conftest import Shelf
from tests.support.code import PAYLOAD_FILE, add_checkout, add_code, import_payloads
from tests.support.hostile import COLLECTIONS, OURS, lines
from tests.support.notes import add_note
from tests.support.pages import Page, problems


def as_name(payload: str) -> str:
    """A name as hostile as notes may have; without what no system can hold."""
    shown = "".join(c for c in replace_unstorable(payload) if c.isprintable() and c not in "\\:/")
    return shown.encode()[:120].decode(errors="ignore").strip(" .~") + ".md"


def check_pages(shelf: Shelf, payload: str) -> None:
    """Open every page that shows it: whatever it says, it is text."""
    name = as_name(payload)
    try:
        validate_path(f"x/{name}")
    except NoteRefused:
        return
    text = replace_unstorable(payload).replace("\0", "")
    note = add_note(
        shelf.project, f"x/{name}", f"---\ntitle: {text}\ntags: [{text}]\n---\n{text}\n"
    )
    pages = ["?folder=x", "tags/", "search/?" + urlencode({"q": text, "tag": "", "in": text})]
    pages += [
        "tags/?" + urlencode({"tag": text}),
        "new/?" + urlencode({"path": text, "folder": text}),
    ]
    for address in pages:
        check_page(shelf, address)
    shown = urlencode({"p": note.path}).removeprefix("p=").replace("+", "%20")
    for address in (f"notes/{shown}", f"edit/{shown}", f"history/{shown}", f"move/{shown}"):
        check_page(shelf, address)
    note.delete()


def check_page(shelf: Shelf, address: str) -> None:
    response = shelf.ada.get(shelf.address(address))
    html = response.content.decode()
    assert response.status_code in (200, 400)
    assert problems(html) == []
    for tag, attributes in Page(html).elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert tag != "script" or "src" in attributes
        assert not attributes.get("href", "").lower().startswith(("javascript:", "data:"))


@pytest.mark.parametrize(
    "payloads", [OURS[::3], pytest.param(OURS, marks=pytest.mark.ci)], ids=["some", "all"]
)
def test_whatever_is_written_it_is_text_on_every_page(shelf: Shelf, payloads: list[str]) -> None:
    for payload in payloads:
        check_pages(shelf, payload)


def sample(payloads: Iterable[str]) -> list[str]:
    return list(payloads)[::25]


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(COLLECTIONS))
def test_whatever_others_collected_it_is_text_on_every_page(shelf: Shelf, name: str) -> None:
    for payload in sample(COLLECTIONS[name]()):
        check_pages(shelf, payload)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["traversal.txt", "traversal_deep.txt"])
@pytest.mark.parametrize("page", ["notes", "files", "history", "edit", "move"])
def test_no_way_leads_out_of_the_library(shelf: Shelf, name: str, page: str) -> None:
    for line in lines(name)[::3]:
        there = shelf.address(f"{page}/{line.replace('?', '%3F').replace('#', '%23')}")
        assert shelf.ada.get(there).status_code in (400, 404), line


@pytest.mark.parametrize("payload", OURS)
def test_names_and_paths_of_code_are_text_on_every_page(shelf: Shelf, payload: str) -> None:
    text = replace_unstorable(payload).replace("\0", "")
    name = as_name(payload).removesuffix(".md")[:100] or "x"
    symbols = [ParsedSymbol(text[:200], text[:200], "class", 1, 1, text[:400])]
    file = add_code(shelf.project, f"x/{name}.py", f"{text}\n", symbols)
    checkout = add_checkout(shelf.project, f"x/{name}", origin=text[:200])
    report = {"reasons": {text: 1}, "files": [[name, text]]}
    CodeCheckout.objects.filter(pk=checkout.pk).update(report={"skipped": report}, commit=text[:64])
    shown = quote(file.path)
    for address in (
        "code/",
        "code/?folder=x",
        f"code/files/{shown}",
        f"code/checkouts/{checkout.pk}/",
        "code/names/?" + urlencode({"name": text}),
        "code/names/?" + urlencode({"name": text[:200]}),
        "code/map/?" + urlencode({"scope": text}),
        "code/map/",
        "code/upload/?" + urlencode({"folder": text}),
        "search/?" + urlencode({"q": text, "type": "code"}),
    ):
        check_page(shelf, address)


def check_parsed_names(shelf: Shelf, folder: Path, payloads: Sequence[str]) -> None:
    """Import names that are payloads, and open every page that shows them."""
    names = import_payloads(shelf.project, folder, payloads)
    assert len(names) >= len(payloads) * 0.9
    pages = [f"code/files/{quote(PAYLOAD_FILE)}", "code/", "code/map/"]
    for name in names:
        asked = urlencode({"name": name}), urlencode({"q": name, "type": "code"})
        pages += [f"code/names/?{asked[0]}", f"search/?{asked[1]}"]
    for address in pages:
        check_page(shelf, address)


def test_names_that_a_language_allows_are_text_on_every_page(shelf: Shelf, tmp_path: Path) -> None:
    check_parsed_names(shelf, tmp_path, OURS[:4])
    shown = shelf.ada.get(shelf.address(f"code/files/{quote(PAYLOAD_FILE)}")).content.decode()
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(COLLECTIONS))
def test_names_that_others_collected_are_text_on_every_page(
    shelf: Shelf, tmp_path: Path, name: str
) -> None:
    check_parsed_names(shelf, tmp_path, sample(COLLECTIONS[name]()))
