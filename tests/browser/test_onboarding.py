"""A stranger's first minute: what `make run` serves, on a machine that has nothing yet."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.browser.expectations import expect
from tests.browser.profiles import Watch
from tests.browser.tabs import Tab
from tests.support.server import free_port, serving
from tests.support.template import copy_site

SIZE: ViewportSize = {"width": 1200, "height": 800}


@pytest.mark.ci
def test_a_stranger_follows_the_link_and_gets_an_answer_with_citations(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    watch = Watch((f"http://127.0.0.1:{port}",))
    with (
        serving(copy_site(tmp_path), port=port) as server,
        browser.new_context(viewport=SIZE) as context,
    ):
        watch.over(context)
        tab = Tab(context.new_page(), server.address, watch)
        tab.page.goto(server.link)
        tab.page.get_by_role("button", name="Add the sample project").click()
        tab.connected()
        expect(tab.page.locator("#empty")).to_contain_text("No language model is connected")
        prompt = tab.page.locator("[data-prompt]").first
        words = prompt.inner_text().strip()
        prompt.click()
        expect(tab.question).to_have_value(words)
        tab.page.get_by_role("button", name="Send").click()
        tab.ended("completed")
        assert tab.tools("done").count() >= 1
        citation = tab.last.locator(".prose a.cite").first
        expect(citation).to_be_visible()
        path = str(citation.get_attribute("href"))
        citation.click()
        tab.page.wait_for_url(f"**{path}")
        note = re.sub(r"^/notes/[^/]+/|#.*$", "", path)
        expect(tab.page.locator("main")).to_contain_text(note)
        expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
        assert "Traceback" not in server.log.read_text()
    assert watch.problems == []
