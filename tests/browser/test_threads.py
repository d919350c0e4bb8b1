"""Threads in a browser: the agent's cards, keeping a passage of an answer, writing, withdrawing."""

import re

import pytest

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Tab, Visitor
from tests.support.script import call, say

pytestmark = pytest.mark.ci

REFUSED = re.compile(r"status of 422")
"""What Chromium itself writes about a form that was not taken."""
SELECT_FIRST_PARAGRAPH = """(answer) => {
  const paragraph = answer.querySelector(".prose p");
  getSelection().selectAllChildren(paragraph);
}"""
PRESS_TWICE = "(button) => { button.click(); button.click(); }"


def ask_about_power(visitor: Visitor, ada: Person) -> Tab:
    ada.plays(
        call("thread_push", thread="harbour lights", content="We take **LFP**.", type="decision"),
        call("thread_list"),
        call("thread_read", thread="harbour lights"),
        call("thread_seek", queries=["lfp", "battery"]),
        say("It was decided [thread:harbour lights#1].\n\nNothing else was."),
    )
    return visitor.enters(ada).ask("What was decided about power?").ended()


def test_the_agents_entries_are_shown_cited_and_undone(visitor: Visitor, ada: Person) -> None:
    tab = ask_about_power(visitor, ada)
    page = tab.page
    tab.last.locator("details.tools > summary").first.click()
    for title in ("Add to thread", "Threads", "Thread", "Search threads"):
        card = tab.last.locator("details.tool").filter(has=page.get_by_text(title, exact=True))
        card.locator("summary").first.click()
        expect(card.locator(".hits").first).to_contain_text("harbour lights")
    pushed = tab.last.locator("details.tool", has_text="Add to thread")
    expect(pushed.locator(".badge.decision").first).to_have_text("Decision")
    tab.last.locator(".prose a.cite").click()
    expect(page.locator("#entry-1")).to_be_in_viewport()
    expect(page.locator("#entry-1 strong")).to_have_text("LFP")
    page.go_back()
    tab.last.get_by_role("button", name="Undo 1 change").first.click()
    expect(tab.last).to_contain_text("1 change undone.")


def test_a_selected_passage_is_kept_in_a_thread_and_leads_back(
    visitor: Visitor, ada: Person
) -> None:
    tab = ask_about_power(visitor, ada)
    page = tab.page
    tab.watch.allowed.append(REFUSED)
    tab.last.locator(".answer").evaluate(SELECT_FIRST_PARAGRAPH)
    tab.last.get_by_role("link", name="Keep in a thread").click()
    dialog = page.locator("#keep")
    expect(dialog.get_by_role("status")).to_contain_text("Kept as")
    dialog.get_by_role("button", name="Keep elsewhere").click()
    expect(dialog.locator("[name=text]")).to_have_value("It was decided thread:harbour lights#1.")
    dialog.get_by_label("Thread").fill("a/b")
    dialog.get_by_role("button", name="Keep").click()
    expect(dialog.get_by_role("alert")).to_contain_text("pass a name without")
    expect(dialog.locator("[name=text]")).to_have_value("It was decided thread:harbour lights#1.")
    dialog.get_by_label("Thread").fill("summary")
    dialog.get_by_label("Type").select_option("insight")
    dialog.get_by_role("button", name="Keep").click()
    dialog.get_by_role("button", name="Close").click()
    tab.last.get_by_role("link", name="Keep in a thread").evaluate(PRESS_TWICE)
    expect(dialog.get_by_role("status")).to_contain_text("summary#2")
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog.get_by_role("status")).to_have_text("Undone.")
    dialog.get_by_role("button", name="Close").click()
    tab.last.get_by_role("link", name="Keep in a thread").click()
    dialog.get_by_role("link", name="summary#3").click()
    expect(page.locator("#entry-2")).to_contain_text("Withdrawn by")
    entry = page.locator("#entry-1")
    expect(entry.locator(".badge")).to_have_text("Insight")
    entry.get_by_role("link", name="from an answer").click()
    expect(page.locator("#thread")).to_contain_text("What was decided about power?")


def test_a_thread_is_written_archived_and_an_entry_withdrawn(visitor: Visitor, ada: Person) -> None:
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(f"{tab.address}/library/")
    page.get_by_role("link", name="Threads", exact=True).click()
    page.get_by_role("link", name="New thread").first.click()
    page.get_by_label("Name").fill("Power & light")
    page.get_by_label("First entry").fill("We take *LFP*.")
    page.get_by_role("button", name="Start thread").click()
    expect(page.locator("#entry-1 em")).to_have_text("LFP")
    page.wait_for_load_state()  # its scripts listen
    page.get_by_label("New entry").fill("And solar.")
    page.get_by_label("Type").select_option("decision")
    page.get_by_role("button", name="Add entry").click()
    expect(page.locator("#entry-2")).to_contain_text("And solar.")
    expect(page.get_by_label("New entry")).to_have_value("")
    expect(page.get_by_label("New entry")).to_be_focused()
    expect(page.locator("#thread-meta")).to_contain_text("2 entries")
    page.get_by_role("button", name="Withdraw entry 2").click()
    expect(page.locator("#entry-2")).to_contain_text("Withdrawn by")
    page.get_by_role("button", name="Archive").click()
    expect(page.locator("main")).to_contain_text("takes no entries until it is reactivated")
    page.get_by_role("button", name="Reactivate").click()
    expect(page.get_by_role("button", name="Add entry")).to_be_visible()
