"""The library in a browser: bring notes in, find one, change it in two tabs, follow a citation."""

import re
from pathlib import Path

import pytest

from tests.browser.dropping import drop, drop_words
from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Visitor, resize
from tests.support.code import make_zip
from tests.support.script import call, say

pytestmark = pytest.mark.ci

CONFLICT = re.compile(r"status of 409")
"""What Chromium itself writes about a form that was not saved."""


def test_files_are_uploaded_found_and_changed_in_two_tabs(
    visitor: Visitor, ada: Person, tmp_path: Path
) -> None:
    vault = tmp_path / "Vault"
    (vault / "harbour").mkdir(parents=True)
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "app.json").write_text("{}")
    (vault / "harbour" / "Quay.md").write_text("# The quay\n\nIt is long.\n\nIt is old.\n")
    (vault / "map.png").write_bytes(b"\x89PNG" + bytes(1_500_000))  # more than one request takes
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/library/")
    page.get_by_role("link", name="Upload", exact=True).click()
    page.wait_for_url("**/upload/")  # loaded: its script listens
    page.locator("#folder").set_input_files(vault)
    expect(page.locator("#report")).to_contain_text("1 new note, 0 changed, 1 other file")

    page.locator("#library-search").press_sequentially("long quay")
    hit = page.locator("#hits").get_by_role("link", name="The quay")
    expect(hit).to_be_visible()
    hit.click()
    expect(page.locator(".prose")).to_contain_text("It is long.")
    page.get_by_role("link", name="Edit").click()
    page.fill("#text", "# The quay\n\nIt is ==short==.\n\nIt is old.\n")
    page.wait_for_load_state()  # its scripts listen
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview mark")).to_have_text("short")

    second = page.context.new_page()
    second.goto(page.url)
    second.fill("#text", "# The quay\n\nIt is long.\n\nIt is new.\n")
    second.get_by_role("button", name="Save").click()
    expect(second.locator("main")).to_contain_text("It is new.")
    tab.watch.allowed.append(CONFLICT)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing is lost")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".prose")).to_contain_text("It is short.")
    expect(page.locator(".prose")).to_contain_text("It is new.")


def test_whoever_leaves_a_text_that_is_not_saved_is_asked_first(
    visitor: Visitor, ada: Person
) -> None:
    ada.note("Quay.md", "It is long.\n")
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/library/")
    page.get_by_role("link", name="Quay").first.click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("link", name="Cancel").click()  # nothing was written: nobody is asked
    page.get_by_role("link", name="Edit").click()
    page.locator("#text").press_sequentially("So ")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Edit").click()
    page.locator("#text").press_sequentially("And ")
    page.wait_for_load_state()  # its script listens
    tab.watch.allowed.append(re.compile(r"dialog: beforeunload"))
    for leave in (
        page.get_by_role("link", name="Cancel"),
        page.get_by_role("button", name="Search"),  # which sends another form
    ):
        leave.click()  # and stays, asked whether to leave
        expect(page.locator("#text")).to_have_value(re.compile(r"^And So It is long\."))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".prose")).to_contain_text("And So It is long.")


def test_files_and_a_zip_are_dropped_also_beside_the_place_for_them(
    visitor: Visitor, ada: Person, tmp_path: Path
) -> None:
    packed, plain = tmp_path / "packed.zip", tmp_path / "Pier.md"
    packed.write_bytes(make_zip({"harbour/Quay.md": "It is long."}))
    plain.write_text("It is wide.")
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/library/")
    page.get_by_role("link", name="Upload", exact=True).click()
    page.wait_for_url("**/upload/")
    drop(page, packed, plain)
    expect(page.locator("#report")).to_contain_text("2 new notes, 0 changed")
    plain.write_text("It is narrow.")
    drop(page, plain, beside=True)
    expect(page.locator("#report")).to_contain_text("0 new notes, 1 changed")
    drop_words(page, "harbour", page.locator("#into"))
    expect(page.locator("#into")).to_have_value("harbour")


def test_an_empty_library_takes_what_is_dropped_on_it(
    visitor: Visitor, ada: Person, tmp_path: Path
) -> None:
    packed = tmp_path / "packed.zip"
    packed.write_bytes(make_zip({"harbour/Quay.md": "It is long."}))
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/projects/")
    page.get_by_label("Name").fill("Harbours")
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/new/")
    page.goto(f"{tab.address}/library/harbours/", wait_until="networkidle")
    drop(page, packed)
    expect(page.locator("#report")).to_contain_text("1 new note, 0 changed")
    expect(page.locator("main")).not_to_contain_text("There are no notes")
    page.get_by_role("link", name="All notes").click()
    expect(page.locator(".entries a")).to_contain_text("harbour")


def test_a_folder_with_notes_takes_what_is_dropped_on_it_and_leads_back(
    visitor: Visitor, ada: Person, tmp_path: Path
) -> None:
    plain = tmp_path / "Pier.md"
    plain.write_text("It is wide.")
    ada.note("harbour/Quay.md", "It is long.")
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/library/", wait_until="networkidle")
    page.goto(f"{page.url}?folder=harbour", wait_until="networkidle")
    expect(page.locator("#drop")).to_be_hidden()
    drop(page, plain, on=".entries")
    expect(page.locator("#report")).to_contain_text("1 new note, 0 changed")
    expect(page.get_by_label("Into this folder")).to_have_value("harbour")
    page.get_by_role("link", name="Back to the notes").click()
    expect(page.locator(".entries a").first).to_contain_text("Pier")
    expect(page.locator("#drop")).to_be_hidden()


@pytest.mark.parametrize("place", ["code/", "tags/", "new/"])
def test_a_file_that_is_dropped_where_nothing_is_uploaded_leaves_the_page_as_it_is(
    visitor: Visitor, ada: Person, tmp_path: Path, place: str
) -> None:
    plain = tmp_path / "Pier.md"
    plain.write_text("It is wide.")
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/library/")
    page.goto(page.url + place, wait_until="networkidle")
    address = page.url
    drop(page, plain, on="main")
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.url == address  # and the profile has seen no request for the file


def test_on_a_phone_no_name_or_tag_is_wider_than_the_page(visitor: Visitor, ada: Person) -> None:
    long = "x" * 90
    ada.note(f"{long}/{long}.md", f"# {long}\n\n#tag/{long} and [[{long}]]\n")
    tab = visitor.enters(ada)
    page = tab.page
    resize(page, 360, 740)
    page.goto(f"{tab.address}/library/")
    library = page.url
    places = ("", "tags/", f"tags/?tag=tag/{long}", f"?folder={long}", f"search/?q={long}")
    for place in (*places, f"notes/{long}/{long}.md", f"history/{long}/{long}.md"):
        page.goto(library + place)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place


def test_a_citation_leads_to_its_line_in_the_library(visitor: Visitor, ada: Person) -> None:
    ada.note("plan.md", "# Plan\n\nFirst this.\n\nThen that.\n")
    ada.plays(say("It is so [plan.md:5]."))
    tab = visitor.enters(ada).ask("What is it?").ended()
    tab.last.locator(".prose a.cite").click()
    expect(tab.page.locator("#L5")).to_be_in_viewport()
    expect(tab.page.locator("#L5")).to_have_text("Then that.")
    expect(tab.page.get_by_role("link", name="Edit")).to_be_visible()


def test_code_is_uploaded_looked_through_and_cited(
    visitor: Visitor, ada: Person, tmp_path: Path
) -> None:
    repo = tmp_path / "gauge"
    (repo / "src").mkdir(parents=True)
    (repo / ".git").mkdir()
    (repo / ".git" / "config").write_text("[core]")
    source = "class Gauge:\n    def read(self) -> float:\n        return 1.0\n"
    (repo / "src" / "gauge.py").write_text(source)
    (repo / "src" / "log.py").write_text("from src.gauge import Gauge\n\nlevel = Gauge().read()\n")
    (repo / "src" / "ö.js").write_text("const size = 1;\n" * 60_000)  # more than one request takes
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/library/")
    page.get_by_role("link", name="Code", exact=True).click()
    page.get_by_role("link", name="Upload code").click()
    page.wait_for_url("**/upload/")
    page.locator("#folder").set_input_files(repo)
    expect(page.locator("main")).to_contain_text("3 new files, 0 changed", timeout=30_000)

    page.get_by_role("link", name="All code").click()
    page.get_by_role("link", name="src").click()
    page.get_by_role("link", name="gauge.py").click()
    expect(page.locator("#L2")).to_have_text("    def read(self) -> float:")
    page.get_by_role("link", name="Uses of Gauge").click()
    expect(page.locator(".references")).to_contain_text("src/log.py:3")
    page.get_by_role("link", name="src/log.py:3").click()
    expect(page.locator("#L3")).to_be_in_viewport()

    page.locator("#library-search").press_sequentially("level gauge")
    expect(page.locator("#hits").get_by_role("link", name="src/log.py:3")).to_be_visible()
    ada.plays(
        call("find_definition", symbol="Gauge.read"),
        call("get_repo_map"),
        say("It is read there [src/gauge.py:2]."),
    )
    tab.go().ask("Where is it read?").ended()
    card = tab.last.locator("details.tool", has_text="Find definition")
    card.locator("summary").first.click()
    expect(card.locator(".code-lines li").first).to_have_text("    def read(self) -> float:")
    tab.last.locator(".prose a.cite").click()
    expect(page.locator("#L2")).to_be_in_viewport()
