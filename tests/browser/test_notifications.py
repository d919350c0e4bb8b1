"""Notifications in a browser: switched, shown, and a reminder from one run to the next."""

import pytest

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Visitor
from tests.support.script import call, say

pytestmark = pytest.mark.ci

PAGE = "/settings/notifications/"


def test_a_notification_says_when_it_last_spoke_and_is_switched_off(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(call("vault_read", path="missing.md"), say("There is none."))
    tab = visitor.enters(ada).ask("What does it say?").ended()
    page = tab.page
    expect(tab.last).to_contain_text("Read note failed:")
    page.goto(visitor.site.address + PAGE)
    row = page.locator("#notification-tool-failures")
    expect(row).to_contain_text("Last used")
    row.get_by_text("Show me").click()
    expect(row).to_contain_text("There is no note Pump.md.")
    row.get_by_role("button", name="Switch off Failed calls").click()
    expect(page.get_by_text("Failed calls is off, from your next run on.")).to_be_visible()
    expect(row.get_by_role("button", name="Switch on Failed calls")).to_be_visible()
    row.get_by_role("link").first.click()
    expect(page.get_by_text("There is none.")).to_be_visible()


def test_a_reminder_is_kept_used_once_and_deleted(visitor: Visitor, ada: Person) -> None:
    note = {"message": "Check the valves.", "when": "after_turns:9", "keep": True}
    ada.plays(
        call("notify_self", **note),
        say("Later."),
        say("Done."),
        call("notify_self", **note),
        say("Later."),
    )
    tab = visitor.enters(ada)
    page = tab.page
    page.goto(visitor.site.address + PAGE)
    page.get_by_role("button", name="Turn reminders on").click()
    expect(page.get_by_text("No reminders are waiting.")).to_be_visible()
    tab = visitor.enters(ada).ask("Remember it.").ended()
    expect(tab.last).to_contain_text("Kept for a later run:")
    expect(tab.ask("And now?").ended().last).to_contain_text("Reminder from an earlier run:")
    tab.ask("Remember it again.").ended()
    page = tab.page
    page.goto(visitor.site.address + PAGE)
    page.get_by_role("button", name="Delete Check the valves.").first.click()
    expect(page.get_by_text("The reminder is deleted.")).to_be_visible()
    expect(page.get_by_text("No reminders are waiting.")).to_be_visible()
