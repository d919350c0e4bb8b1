"""A project is made, somebody new comes in by a link, asks, and is shown out again."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from tests.browser.expectations import expect
from tests.browser.profiles import Watch
from tests.browser.tabs import Tab
from tests.support.server import free_port, serving
from tests.support.template import copy_site

SIZE: ViewportSize = {"width": 1200, "height": 800}
PHONE: ViewportSize = {"width": 360, "height": 740}
PASSWORD = "violet harbour 9"


def fits(page: Page) -> bool:
    """Whether a page is no wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return width <= 0


def join(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Create account and join").click()


@pytest.mark.ci
def test_a_stranger_comes_in_by_a_link_asks_and_is_shown_out_when_removed(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    watch = Watch((f"http://127.0.0.1:{port}",))
    with (
        serving(copy_site(tmp_path), port=port) as server,
        browser.new_context(viewport=SIZE) as owners,
        browser.new_context(viewport=PHONE, color_scheme="dark") as strangers,
    ):
        watch.over(owners)
        watch.over(strangers)
        owner = Tab(owners.new_page(), server.address, watch)
        owner.page.goto(server.link)
        owner.page.get_by_role("button", name="Add the sample project").click()
        owner.connected()
        owner.page.get_by_role("button", name="Project: Tidewatch").click()
        owner.page.get_by_role("link", name="People and settings").click()
        owner.page.get_by_label("Role", exact=True).last.select_option("reader")
        owner.page.get_by_role("button", name="Create a link").click()
        link = owner.page.get_by_label("The new link").input_value()

        stranger = Tab(strangers.new_page(), server.address, watch)
        join(stranger.page, link, "nia")
        stranger.connected()
        stranger.ask("Who leads the project?")
        stranger.ended("completed")
        assert fits(stranger.page)
        stranger.page.goto(f"{server.address}/p/tidewatch/settings/")
        assert fits(stranger.page)
        expect(stranger.page.locator("main")).to_contain_text("Your role: reader")
        stranger.go()

        owner.page.goto(f"{server.address}/p/tidewatch/settings/")
        owner.page.get_by_role("button", name="Remove nia").click()
        expect(stranger.page.locator("#flash")).to_contain_text("no longer in this project")
        stranger.page.goto(server.address)
        expect(stranger.page.locator("main")).to_contain_text("You are not in any project yet")
        assert "Traceback" not in server.log.read_text()
    assert watch.problems == []
