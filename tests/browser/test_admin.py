"""The audit in a browser: a run watched live and stopped with a reason; what if, by hand."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Visitor
from tests.support.script import call, say
from tests.support.threaded_endpoint import held

pytestmark = pytest.mark.ci

WHY = "It reads the wrong project."


@pytest.fixture
def root(somebody: Callable[..., Person]) -> Person:
    """An administrator."""
    made = somebody()
    made.site.ask("change", name=made.name, is_staff=True, is_superuser=True)
    return made


def audit(visitor: Visitor, root: Person, path: str) -> Page:
    """A page of the audit, for somebody who signs in."""
    tab = visitor.tab()
    tab.page.goto(f"{tab.address}/door/enter?name={root.name}&next=/admin/agents/agentrun/{path}")
    return tab.page


def test_an_administrator_watches_a_run_and_stops_it_with_a_reason(
    profile: Callable[[], Visitor], ada: Person, root: Person
) -> None:
    gate = ada.gate()
    ada.plays(call("vault_list"), held("It begins ", "and never ends.", gate), unused_ok=True)
    tab = profile().enters(ada).ask("What is it?").shows("It begins")
    page = audit(profile(), root, f"{ada.run()['id']}/change/")
    doing = "The model is writing its answer in iteration 2."
    expect(page.locator(".run-why")).to_contain_text(doing)
    step = page.locator("details.decision-step").first
    step.locator("summary").click()
    page.get_by_label("Reason").fill(WHY)
    with page.expect_response(re.compile("/live/")) as polled:
        pass
    assert polled.value.status == 200
    expect(step.locator("table")).to_be_visible()  # what was open stays open
    expect(page.get_by_label("Reason")).to_have_value(WHY)
    page.get_by_role("button", name="Stop the run").click()
    expect(page.locator(".run-why")).to_contain_text(f"Stopped by an administrator: {WHY}")
    expect(page.locator("#run-cancel form")).to_have_count(0)
    expect(page.locator(".run-seal")).to_contain_text("Record intact")
    tab.ended("cancelled")
    expect(tab.notices("cancelled")).to_contain_text(f"Stopped by an administrator: {WHY}")
    gate.open()


def test_a_run_that_ends_while_it_is_watched_becomes_final_without_a_reload(
    profile: Callable[[], Visitor], ada: Person, root: Person
) -> None:
    gate = ada.gate()
    ada.plays(held("It begins ", "and ends.", gate))
    tab = profile().enters(ada).ask("What is it?").shows("It begins")
    page = audit(profile(), root, f"{ada.run()['id']}/change/")
    expect(page.locator(".run-head .badge.running")).to_be_visible()
    gate.open()
    tab.ended()
    expect(page.locator(".run-head .badge.completed")).to_be_visible()
    expect(page.locator("#run-cancel form")).to_have_count(0)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(2_500)
    assert asked == []


def test_what_if_by_hand(profile: Callable[[], Visitor], ada: Person, root: Person) -> None:
    reads = [call("vault_read", path=path) for path in ("index.md", "people.md", "questions.md")]
    ada.plays(*reads, say("Mara leads it."))
    profile().enters(ada).ask("Who leads it?").ended()
    page = audit(profile(), root, f"{ada.run()['id']}/change/")
    page.get_by_role("link", name="What if").click()
    page.get_by_label("Max iterations", exact=True).fill("2")
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("main")).to_contain_text("1 completed run would have been cut")
    assert "max_iterations=2" in page.url
    expect(page.get_by_role("link", name=ada.run()["id"]).last).to_be_visible()
    page.get_by_label("Max iterations", exact=True).fill("")
    page.get_by_label("Behaviour", exact=True).select_option("plan-then-do")
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("main")).to_contain_text(
        "1 run: At that point it tells the model something"
    )
    expect(page.get_by_label("Behaviour", exact=True)).to_have_value("plan-then-do")


def test_the_chat_links_to_the_audit_for_those_who_may_see_it(
    profile: Callable[[], Visitor], ada: Person, root: Person
) -> None:
    ada.plays(say("Yes."))
    tab = profile().enters(ada).ask("Is it so?").ended()
    expect(tab.page.get_by_role("link", name="Details")).to_have_count(0)
    root.plays(say("Yes."))
    tab = profile().enters(root).ask("Is it so?").ended()
    live = tab.thread_html()
    assert tab.reload().thread_html() == live
    tab.page.get_by_role("link", name="Details").click()
    expect(tab.page.locator(".run-why")).to_contain_text("The agent finished its answer.")
    tab.page.get_by_role("link", name="Open the chat").click()
    tab.connected().shows("Yes.")


def test_a_transcript_is_opened_and_that_is_seen(
    profile: Callable[[], Visitor], ada: Person, root: Person
) -> None:
    ada.plays(say("Only for those who may read it."))
    profile().enters(ada).ask("What is it?").ended()
    page = audit(profile(), root, f"{ada.run()['id']}/change/")
    expect(page.locator("main")).not_to_contain_text("Only for those")
    page.get_by_role("link", name="Open the transcript").click()
    page.get_by_role("button", name="Open the transcript").click()
    expect(page.locator("main")).to_contain_text("Only for those who may read it.")
    page.get_by_role("link", name="Back to the run").click()
    expect(page.locator("main")).to_contain_text("Opened a transcript")
