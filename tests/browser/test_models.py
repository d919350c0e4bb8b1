"""The page of the models in a real browser: a provider, a key, a list, a test, and a reload."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from tests.browser.expectations import expect
from tests.browser.profiles import Profiles, Watch
from tests.browser.site import Site, open_site
from tests.browser.tabs import Tab
from tests.support.script import Fault, Script, say
from tests.support.threaded_endpoint import Stage

pytestmark = pytest.mark.ci

SIZE: ViewportSize = {"width": 1000, "height": 900}
KEY = "sk-browser-0123456789-abcd"
REFUSED = re.compile(r"status of 422")
"""What Chromium itself writes about a form that was refused."""


@dataclass
class Visit:
    page: Page
    address: str
    stage: Stage
    tab: Tab

    def enter(self, name: str, value: str) -> None:
        """Type, then leave the field."""
        self.page.locator(f"#{name}").fill(value)
        self.page.keyboard.press("Tab")

    def saves(self, name: str) -> None:
        expect(self.page.locator(f"#{name}-state")).to_contain_text("Saved ")
        self.settled()

    def settled(self) -> None:
        """htmx wires what it has put on the page a moment later, quicker than hands can be."""
        busy = ".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added"
        expect(self.page.locator(busy)).to_have_count(0)

    def use_stage(self) -> None:
        self.page.locator("#provider").select_option("own")
        self.saves("provider")
        self.enter("base_url", self.stage.base_url)
        self.saves("base_url")


@pytest.fixture(scope="session")
def open_to_all(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site whose administrator lets people use endpoints on this machine, and has none."""
    allowed = {"ORACLE_OWN_ENDPOINTS": "yes", "ORACLE_INSIDE_ENDPOINTS": "127.0.0.1"}
    folder = tmp_path_factory.mktemp("open-site")
    with open_site(folder, stage, ORACLE_LLM_BASE_URL="", **allowed) as site:
        yield site


@pytest.fixture
def visit(profiles: Profiles, open_to_all: Site) -> Iterator[Visit]:
    """The page of somebody who has chosen nothing yet."""
    site, watch = open_to_all, Watch((open_to_all.address,))
    site.news()
    profile = profiles.take(watch)
    tab = Tab(profile.context.new_page(), site.address, watch)
    tab.page.set_viewport_size(SIZE)
    name = site.person(models=False).name
    tab.page.goto(f"{site.address}/door/enter?name={name}&next=/settings/models/")
    yield Visit(tab.page, site.address, site.stage, tab)
    profiles.give_back(profile)
    log = site.news()
    assert "Traceback" not in log
    assert KEY not in log
    assert watch.problems == []


def test_a_provider_a_key_and_a_model_are_chosen_tried_and_kept(visit: Visit) -> None:
    visit.stage.play("browser-model", Script([say("OK"), say("Hello from my own endpoint.")]))
    page = visit.page
    expect(page.locator("#who-answers")).to_contain_text("The embedded model answers")
    visit.use_stage()
    visit.enter("key", KEY)
    expect(page.locator("#key-hint")).to_have_text("…abcd")
    expect(page.locator("#key-state")).to_contain_text("Saved ")
    expect(page.locator("#key")).to_have_value("")
    expect(page.locator("#who-answers")).to_contain_text("with your key")
    expect(page.locator("#model-list")).to_contain_text("to choose from")
    expect(page.locator('#known-models option[value="browser-model"]')).to_have_count(1)
    visit.enter("oracle_model", "browser-model")
    visit.saves("oracle_model")
    page.get_by_role("button", name="Test").click()
    expect(page.locator("#test-said")).to_contain_text("It works. browser-model at 127.0.0.1")

    page.reload()
    expect(page.locator("#provider")).to_have_value("own")
    expect(page.locator("#base_url")).to_have_value(visit.stage.base_url)
    expect(page.locator("#key-hint")).to_have_text("…abcd")
    expect(page.locator("#oracle_model")).to_have_value("browser-model")
    assert KEY not in page.content()

    page.goto(f"{visit.address}/new/")
    visit.tab.connected().ask("Who are you?").shows("Hello from my own endpoint.").ended()
    asked = visit.stage.requests("browser-model")
    assert {record.headers["authorization"] for record in asked} == {f"Bearer {KEY}"}

    page.goto(f"{visit.address}/settings/changes/")
    expect(page.locator("main")).to_contain_text("…abcd")
    assert KEY not in page.content()


def test_another_provider_and_back_shows_the_base_url_and_the_key_again(visit: Visit) -> None:
    page = visit.page
    visit.use_stage()
    visit.enter("key", KEY)
    expect(page.locator("#key-hint")).to_have_text("…abcd")
    visit.settled()
    page.locator("#provider").select_option("")
    expect(page.locator("#key")).to_have_count(0)
    visit.settled()
    page.locator("#provider").select_option("own")
    expect(page.locator("#base_url")).to_have_value(visit.stage.base_url)
    expect(page.locator("#key-hint")).to_have_text("…abcd")
    visit.settled()


def test_what_goes_wrong_is_said_where_it_happens(visit: Visit) -> None:
    visit.tab.watch.allowed.append(REFUSED)
    visit.stage.play("sad-model", Script([], then=Fault("status_401")))
    page = visit.page
    visit.use_stage()
    visit.enter("base_url", "http://169.254.169.254/v1")
    expect(page.locator("#base_url-state")).to_contain_text("Not saved.")
    expect(page.locator("#base_url-state")).to_contain_text(f"Still using: {visit.stage.base_url}")
    expect(page.locator("#base_url")).to_have_value("http://169.254.169.254/v1")
    visit.enter("librarian_timeout", "59")
    expect(page.locator("#librarian_timeout-state")).to_contain_text("Still using 1,200")
    visit.enter("oracle_model", "sad-model")
    visit.saves("oracle_model")
    page.get_by_role("button", name="Test").click()
    expect(page.locator("#test-said")).to_contain_text("refused the API key")
    expect(page.locator("#test-said")).to_contain_text("You have not entered a key")


def test_a_key_can_be_removed_and_enter_never_removes_it(visit: Visit) -> None:
    page = visit.page
    visit.use_stage()
    page.locator("#key").fill(KEY)
    page.keyboard.press("Enter")
    expect(page.locator("#key-hint")).to_have_text("…abcd")
    page.get_by_role("button", name="Remove the key").click()
    expect(page.locator("#key-state")).to_contain_text("Removed ")
    expect(page.locator("#key-hint")).to_have_count(0)


def test_the_other_settings_save_themselves(visit: Visit) -> None:
    page = visit.page
    page.locator("#thinking_enabled").check()
    visit.saves("thinking_enabled")
    page.locator("#reasoning_effort").select_option("high")
    visit.saves("reasoning_effort")
    page.locator("#max_context_nodes").fill("12")
    visit.saves("max_context_nodes")
    page.locator("#librarian_timeout-slider").focus()
    page.keyboard.press("End")
    visit.saves("librarian_timeout")
    page.reload()
    expect(page.locator("#thinking_enabled")).to_be_checked()
    expect(page.locator("#reasoning_effort")).to_have_value("high")
    expect(page.locator("#max_context_nodes")).to_have_value("12")
    expect(page.locator("#librarian_timeout")).to_have_value("3600")


def test_everything_works_without_javascript(browser: Browser, visit: Visit) -> None:
    visit.stage.play("plain-model", Script([say("OK")]))
    state = visit.page.context.storage_state()
    with browser.new_context(java_script_enabled=False, storage_state=state) as context:
        page = context.new_page()
        page.goto(f"{visit.address}/settings/models/")
        for name, value in (("base_url", visit.stage.base_url), ("oracle_model", "plain-model")):
            if name == "base_url":
                page.locator("#provider").select_option("own")
                page.locator("#setting-provider").get_by_role("button", name="Save").click()
            page.locator(f"#{name}").fill(value)
            page.locator(f"#setting-{name}").get_by_role("button", name="Save").click()
            expect(page.locator("main")).to_contain_text("is saved.")
        page.locator("#key").fill(KEY)
        page.locator("#setting-key").get_by_role("button", name="Save").click()
        expect(page.locator("#key-hint")).to_have_text("…abcd")
        page.get_by_role("link", name="Ask the endpoint for its models").click()
        expect(page.locator("#known-models option")).not_to_have_count(0)
        page.get_by_role("button", name="Test").click()
        expect(page.locator("#test-said")).to_contain_text("It works.")
