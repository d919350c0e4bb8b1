"""A run that asks before it writes, decided on a phone after the server was started anew."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.expectations import expect
from tests.browser.site import Person, Site
from tests.browser.tabs import CUT_OFF, Tab, Visitor, resize
from tests.support.script import call, say

pytestmark = pytest.mark.ci
NOTE = "Pumps.md"


def want_to_be_asked(page: Page, address: str) -> None:
    page.goto(f"{address}/settings/")
    page.get_by_label("Ask before writing").select_option("always")
    expect(page.locator("#settings")).to_contain_text("Saved")


def read_thread(tab: Tab) -> str:
    """What the thread shows; a form's secret is another each time."""
    return re.sub(r'csrfmiddlewaretoken" value="\w+"', "", tab.thread_html())


def test_a_change_is_asked_for_survives_a_restart_and_is_approved_on_a_phone(
    profile: Callable[..., Visitor], ada: Person, site: Site
) -> None:
    ada.plays(
        call("vault_write", path=NOTE, body="# Pumps\n\nThe pumps are red.\n"),
        call("vault_write", path=NOTE, body="# Pumps\n\nThe pumps are green.\n"),
        say("They are green now."),
    )
    tab = profile(only_here=True).enters(ada)
    want_to_be_asked(tab.page, tab.address)
    tab.go("/new/").ask("Paint the pumps.").ended("paused")
    waiting = tab.page.locator("section.approval")
    expect(waiting).to_contain_text("Waiting for your decision")
    expect(waiting.locator("tr.added")).to_have_count(3)
    live = read_thread(tab)
    expect(tab.reload().page.locator("section.approval form")).to_be_visible()
    assert read_thread(tab) == live
    tab.watch.allowed.append(CUT_OFF)
    site.kill()
    site.start()
    phone = profile(only_here=True).enters(ada, tab.page.url.removeprefix(tab.address))
    resize(phone.page, 360, 740)
    expect(phone.page.locator("section.approval")).to_be_visible()
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    phone.page.get_by_role("button", name="Yes", exact=True).click()
    expect(phone.exchanges).to_have_count(2)
    phone.ended("paused").shows("Yes, go ahead.")
    expect(phone.page.locator("section.approval").first).to_contain_text("Approved")
    expect(phone.tools("done")).to_have_count(1)
    expect(tab.connected().page.locator("section.approval").first).to_contain_text("Approved")
    second = phone.last.locator("section.approval")
    expect(second.locator("tr.removed")).to_have_count(1)
    second.get_by_label(re.compile("In your words")).fill("Leave them red.")
    second.get_by_role("button", name="No").click()
    phone.ended().shows("They are green now.")
    first, done, last = ada.runs()
    assert [run["outcome"] for run in (first, done, last)] == ["paused", "paused", "completed"]
    assert done["continued_from"] == first["id"]
    phone.page.goto(f"{phone.address}/library/")
    phone.page.get_by_role("link", name=re.compile("Pumps")).first.click()
    expect(phone.page.locator("main")).to_contain_text("The pumps are red.")


def test_what_ask_first_would_change_is_approved_on_a_phone_after_browser_and_server_are_gone(
    profile: Callable[..., Visitor], ada: Person, site: Site
) -> None:
    visitor = profile(only_here=True)
    tab = visitor.enters(ada)
    tab.page.locator("select[name=tree]").select_option("ask-first")
    ada.plays(say("Write Pumps.md: the pumps are green."))
    tab.ask("Paint the pumps.").ended("paused")
    expect(tab.page.locator("section.approval")).to_contain_text("May I do this?")
    where = tab.page.url.removeprefix(tab.address)
    tab.watch.allowed.append(CUT_OFF)
    visitor.context.close()
    site.kill()
    site.start()

    phone = profile(only_here=True).enters(ada, where)
    resize(phone.page, 360, 740)
    ada.plays(
        call("vault_write", path=NOTE, body="# Pumps\n\nGreen.\n"), say("They are green now.")
    )
    phone.page.get_by_role("button", name="Yes", exact=True).click()
    expect(phone.exchanges).to_have_count(2)
    phone.ended().shows("They are green now.")
    asked, done = ada.runs()
    assert [run["reason"] for run in (asked, done)] == ["needs_approval", "completed"]
    assert done["continued_from"] == asked["id"]
    phone.page.goto(f"{phone.address}/runs/{done['id']}/behaviour/")
    expect(phone.page.locator("main")).to_contain_text("May I do this?")
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    phone.page.goto(f"{phone.address}/library/")
    phone.page.get_by_role("link", name=re.compile("Pumps")).first.click()
    expect(phone.page.locator("main")).to_contain_text("Green.")
