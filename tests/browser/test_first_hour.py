"""A new user's hour: from an empty account to notes that two people and an agent work on."""

import io
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.dropping import drop
from tests.browser.expectations import expect
from tests.browser.site import Person, Site
from tests.browser.tabs import Tab, Visitor
from tests.support.script import Script, call, say

pytestmark = pytest.mark.ci
VAULT = Path(__file__).resolve().parents[3] / "shared" / "retrieval" / "kepano-vault.tar.gz"
CITED = "Clippings/Buy wisely.md"
NEW_NOTE = "Notes/Buying.md"
PASSWORD = "a quay in the morning fog"
DEFAULT_MODEL = "gpt-4o-mini"
BACKGROUND = "element => getComputedStyle(element).backgroundColor"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of somebody's real notes."""
    if not VAULT.exists():
        pytest.skip("the sample vaults are not here")
    with tarfile.open(VAULT) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "kepano"


def test_a_new_user_s_first_hour(
    site: Site,
    profile: Callable[..., Visitor],
    somebody: Callable[..., Person],
    vault: Path,
) -> None:
    ada = somebody()
    tab = profile(only_here=True).enters(ada)
    tab.watch.allowed.append(re.compile(r"responded with a status of (409|403)"))  # as they shall
    slug = make_a_project(tab.page, site.address)
    drop_the_folder(tab.page, site.address, slug, vault)
    ask_and_follow_the_citation(tab, ada)
    edit_in_two_tabs(tab.page, site.address, slug)
    let_the_agent_write_and_undo(tab, ada)
    link = invite_a_reader(tab.page, site.address, slug)
    reader = profile(only_here=True).tab()
    become_a_reader_who_cannot_write(reader, site, link, slug)
    compare_the_download(tab.page, site.address, slug, vault)


def make_a_project(page: Page, address: str) -> str:
    page.goto(f"{address}/projects/")
    page.get_by_label("Name", exact=True).fill("My vault")
    page.get_by_role("button", name="Create project").click()
    page.goto(f"{address}/library/")
    expect(page.get_by_role("link", name="My vault")).to_be_visible()
    found = re.search(r"/library/([\w-]+)/", page.url)
    assert found
    return found[1]


def drop_the_folder(page: Page, address: str, slug: str, vault: Path) -> None:
    page.goto(f"{address}/library/{slug}/upload/")
    drop(page, vault)
    expect(page.locator("#report")).to_contain_text("103 new notes", timeout=30_000)
    drop(page, vault)  # once more, which changes nothing
    expect(page.locator("#report")).to_contain_text("0 new notes, 0 changed", timeout=30_000)
    expect(page.locator("#report")).to_contain_text("135 unchanged.")
    page.goto(f"{address}/library/{slug}/")
    expect(page.locator(".entries").get_by_role("link", name="Clippings")).to_be_visible()


def ask_and_follow_the_citation(tab: Tab, ada: Person) -> None:
    ada.plays(
        call("vault_search", queries=["buy wisely", "purchase decisions"]),
        call("vault_read", path=CITED),
        say(f"Buy the best you can afford [{CITED}:3]."),
    )
    tab.go("/new/").ask("How should one buy things?").ended()
    expect(tab.tools("done")).to_have_count(2)
    answer = tab.last.locator(".prose a", has_text="Buy wisely").first
    answer.click()
    expect(tab.page.get_by_role("heading", name="Buy wisely").first).to_be_visible()
    cited, beside = tab.page.locator("#L3"), tab.page.locator("#L4")
    expect(cited).to_be_in_viewport()
    assert cited.evaluate(BACKGROUND) != beside.evaluate(BACKGROUND), "the line is not marked"


def edit_in_two_tabs(page: Page, address: str, slug: str) -> None:
    other = page.context.new_page()
    for each in (page, other):
        each.goto(f"{address}/library/{slug}/edit/Readme.md")
    before = page.get_by_label("Text", exact=True).input_value()
    page.get_by_label("Text", exact=True).fill(f"First line by one tab.\n{before}")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".prose")).to_contain_text("First line by one tab.")
    other.get_by_label("Text", exact=True).fill(f"{before}\nLast line by the other.\n")
    other.get_by_role("button", name="Save").click()
    expect(other.get_by_role("alert")).to_contain_text("Somebody changed this note")
    merged = other.get_by_label("Text", exact=True)
    expect(merged).to_have_value(re.compile("First line by one tab.*Last line by the other", re.S))
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".prose")).to_contain_text("Last line by the other.")
    other.goto(f"{address}/library/{slug}/edit/Readme.md")
    other.get_by_label("Text", exact=True).fill(before)
    other.get_by_role("button", name="Save").click()
    expect(other.locator(".prose")).not_to_contain_text("Last line by the other.")
    other.close()


def let_the_agent_write_and_undo(tab: Tab, ada: Person) -> None:
    ada.plays(
        call("vault_write", path=NEW_NOTE, body="# Buying\n\nSlowly.\n", title="Buying"),
        say("I wrote it down."),
    )
    tab.go("/new/").ask("Write that down.").ended()
    card = tab.tools("done").first
    card.locator("summary").click()
    expect(card.locator(".diff .added").filter(has_text="Slowly.")).to_be_visible()
    undo = tab.last.locator(".answer-end").get_by_role("button", name="Undo 1 change")
    undo.click()
    expect(tab.last.locator(".answer-end")).to_contain_text("1 change undone.")


def invite_a_reader(page: Page, address: str, slug: str) -> str:
    page.goto(f"{address}/p/{slug}/settings/")
    links = page.locator("section", has=page.get_by_role("button", name="Create a link"))
    links.get_by_label("Role").select_option("reader")
    links.get_by_role("button", name="Create a link").click()
    return page.locator("#link").input_value()


def become_a_reader_who_cannot_write(tab: Tab, site: Site, link: str, slug: str) -> None:
    page, name = tab.page, f"reader-{slug}"
    page.goto(link)
    page.get_by_label("Name", exact=True).or_(page.get_by_label("Username")).fill(name)
    for field in page.locator('input[type="password"]').all():
        field.fill(PASSWORD)
    page.get_by_role("button", name="Create account and join").click()
    expect(page.locator("#question")).to_be_visible()
    site.stage.play(DEFAULT_MODEL, Script([say("It says: buy slowly.")]))
    tab.go("/new/").ask("What does the vault say?").ended()
    (request,) = site.stage.requests(DEFAULT_MODEL)
    offered = [tool["function"]["name"] for tool in request.body["tools"]]
    assert "vault_search" in offered
    assert [name for name in offered if name in ("vault_write", "vault_move")] == []
    page.goto(f"{site.address}/library/{slug}/notes/{CITED.replace(' ', '%20')}")
    expect(page.get_by_role("heading", name="Buy wisely").first).to_be_visible()
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    refused = page.goto(f"{site.address}/library/{slug}/edit/Readme.md")
    assert refused is not None
    assert refused.status in (403, 404)


def compare_the_download(page: Page, address: str, slug: str, vault: Path) -> None:
    answer = page.request.get(f"{address}/library/{slug}/download/")
    with zipfile.ZipFile(io.BytesIO(answer.body())) as archive:
        exported = {name: archive.read(name) for name in archive.namelist()}
    hidden = re.compile(r"(^|/)\.")
    files = {
        path.relative_to(vault).as_posix(): path for path in vault.rglob("*") if path.is_file()
    }
    imported = {name: path.read_bytes() for name, path in files.items() if not hidden.search(name)}
    assert exported == imported
