"""A behaviour from a copy to the run that it drives, as somebody does it by hand."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Visitor
from tests.support.script import call, say

OLD = "a numbered plan of at most five steps"
NEW = "a plan of three words"


def copy_and_change(page: Page) -> None:
    """Copy plan-then-do, break it, which is told with its place, and change one sentence."""
    card = page.locator("li.rule", has_text="plan-then-do")
    card.get_by_role("link", name="Copy").click()
    editor = page.get_by_label("The behaviour", exact=True)
    text = editor.input_value()
    assert '(tree "my-plan-then-do"' in text
    told = page.locator("#behaviour-check")
    editor.fill(text.replace("(notify", "(notfy"))
    expect(told).to_contain_text("there is no node 'notfy'; did you mean 'notify'?")
    editor.fill(text.replace(OLD, NEW))
    expect(told).to_contain_text("No problems.")
    expect(told).to_contain_text("repeater :until-success :max-iterations 4")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#trial")).to_contain_text(
        "It differs from that run before the first answer."
    )
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("my-plan-then-do is stored")


@pytest.mark.ci
def test_a_stranger_copies_a_behaviour_changes_a_sentence_and_sees_its_path(
    profile: Callable[[], Visitor], ada: Person
) -> None:
    visitor = profile()
    ada.plays(say("It is a project."))
    tab = visitor.enters(ada).ask("What is this?").ended()
    page = visitor.context.new_page()
    page.goto(f"{tab.address}/settings/behaviours/")
    copy_and_change(page)

    tab.go()
    mode = tab.page.locator("select[name=tree]")
    mode.select_option("my-plan-then-do")
    expect(tab.page.locator("#mode-about")).to_contain_text("Plans first")
    ada.plays(
        call("vault_search", queries=["radar"]), say("Search, read, answer."), say("It is radar.")
    )
    tab.ask("Which gauge is it?").ended().shows("It is radar.")
    assert NEW in str(ada.requests[-3].body)
    plan = tab.last.locator("details.interim")
    expect(plan.locator("summary")).to_contain_text("Plan")
    expect(plan.get_by_text("Search, read, answer.")).not_to_be_visible()
    before = tab.thread_html()
    assert tab.reload().thread_html() == before

    run = ada.runs()[-1]
    page.goto(f"{tab.address}/runs/{run['id']}/behaviour/")
    drawn = page.locator("main")
    expect(drawn).to_contain_text("Then write a plan")
    expect(drawn).to_contain_text("The run ended here.")
    page.get_by_text("The path of each iteration").click()
    page.get_by_role("link", name="Iteration 2").click()
    expect(page.locator("li.node.taken").first).to_be_visible()
