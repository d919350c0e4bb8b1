"""A long answer in a browser: its beginning after a reload, and the rest where and when it is asked
for, with and without script."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Visitor, resize
from tests.support.script import say

LONG = "".join(
    f"Line {number} of it & & & & & & & & & & & & & & & & &\n" for number in range(2_000)
)
"""Short to send, and long as HTML."""
MORE = "Show more of this answer"


def more(page: Page) -> Locator:
    return page.get_by_role("link", name=MORE)


def goes_out(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def test_the_rest_comes_where_it_belongs(visitor: Visitor, ada: Person) -> None:
    ada.plays(say(LONG, pieces=40))
    tab = visitor.enters(ada).ask("Why?").ended()
    page = tab.page
    page.emulate_media(color_scheme="dark")
    resize(page, 360, 740)
    tab.reload().connected()
    expect(page.get_by_text("Line 1999 of it")).to_have_count(0)
    while more(page).count():
        assert not goes_out(page)
        assert more(page).bounding_box()["height"] >= 24  # type: ignore[index]
        more(page).focus()
        before = page.locator(".block").count()
        page.keyboard.press("Enter")
        expect(page.locator(".block")).not_to_have_count(before)
    shown = re.findall(r"Line (\d+) of it", tab.text_of(".exchange .prose"))
    assert [int(number) for number in shown] == list(range(2_000))


@pytest.mark.ci
def test_the_rest_is_a_page_for_who_has_no_script(
    visitor: Visitor, ada: Person, browser: Browser
) -> None:
    ada.plays(say(LONG, pieces=40))
    tab = visitor.enters(ada).ask("Why?").ended()
    state = tab.page.context.storage_state()
    with browser.new_context(java_script_enabled=False, storage_state=state) as context:
        page = context.new_page()
        page.goto(tab.page.url)
        expect(more(page)).to_be_visible()
        while more(page).count():
            more(page).click()
            expect(page.get_by_role("heading", name="More of an answer")).to_be_visible()
        expect(page.get_by_text("Line 1999 of it")).to_be_visible()
