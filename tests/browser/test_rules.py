"""A rule from its first letter to the run that it stops, as somebody does it by hand."""

import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Tab, Visitor
from tests.support.script import call, say

pytestmark = pytest.mark.ci

RULE = """[rule]
id = "enough-searches"
name = "Five searches are enough"
trigger = "on_turn_end"

[condition]
expression = 'history.calls.vault_search >= 5'

[[action]]
type = "stop"
message = "It has searched five times."
"""
SEARCHED = ("radar", "tide", "gauge", "battery", "roadmap", "budget")
SAID = "It has searched five times."


def search_six_times(ada: Person, *, stopped: bool = False) -> None:
    searches = [call("vault_search", queries=[words]) for words in SEARCHED]
    ada.plays(*searches[: 5 if stopped else 6], say("What I know by now."))


def switch(page: Page, mode: str) -> None:
    card = page.locator("li.rule", has_text="Five searches are enough")
    card.get_by_role("combobox").select_option(mode)
    expect(card.get_by_role("status")).to_have_text(re.compile(f"{mode} from the next run", re.I))


def write(page: Page) -> None:
    """Type a rule with a mistake, which is told with its place; mend it, try it, save it."""
    page.get_by_role("link", name="New rule").click()
    editor = page.get_by_label("The rule (TOML)")
    editor.fill(RULE.replace("history.calls", "history.cals"))
    told = page.locator("#rule-check")
    expect(told).to_contain_text("Line 7, column 15: there is no 'cals' in history")
    expect(editor).to_have_attribute("aria-invalid", "true")
    editor.fill(RULE)
    expect(told).to_contain_text("No problems.")
    expect(editor).to_have_attribute("aria-invalid", "false")
    page.get_by_role("button", name="Try it").click()
    trial = page.locator("#trial")
    expect(trial).to_contain_text("It would have fired in 1 of 1 run")
    expect(trial).to_contain_text(f"Iteration 5: stop: {SAID}")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("enough-searches is stored, and on.")


def read_run(tab: Tab, run_id: str) -> dict[str, object]:
    """What a program of theirs is told of a run, with a token that they make by hand."""
    page = tab.page
    page.goto(f"{tab.address}/settings/tokens/")
    page.get_by_label("Name").fill("A program")
    page.get_by_role("button", name="Create token").click()
    token = page.locator("#token").input_value()
    answer = httpx.get(
        f"{tab.address}/api/oracle/runs/{run_id}",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
    )
    return dict(answer.raise_for_status().json())


def test_a_switch_shows_what_another_tab_has_set_since(visitor: Visitor, ada: Person) -> None:
    visitor.enters(ada)
    one, two = visitor.context.new_page(), visitor.context.new_page()
    for page in (one, two):
        page.goto(f"{visitor.site.address}/settings/rules/")
    for page, mode in ((one, "shadow"), (two, "off"), (two, "on")):
        card = page.locator("#rule-shipped-slow-tool")
        card.get_by_role("combobox").select_option(mode)
        expect(card.get_by_role("status")).to_have_text(
            f"{mode.capitalize()} from the next run on."
        )
    one.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(one.locator("#rule-shipped-slow-tool").get_by_role("combobox")).to_have_value("on")


def test_the_lines_that_problems_name_are_numbered(visitor: Visitor, ada: Person) -> None:
    visitor.enters(ada)
    page = visitor.context.new_page()
    page.goto(f"{visitor.site.address}/settings/rules/new/")
    editor, numbers = page.locator("#text"), page.locator(".line-numbers")
    lines = 60
    editor.fill("\n".join(f"# {'long ' * 60}{number}" for number in range(lines)))
    expect(numbers).to_have_text("\n".join(str(number + 1) for number in range(lines)))
    editor.evaluate("area => area.scrollTo(0, area.scrollHeight)")
    at_end = editor.evaluate("area => area.scrollTop")
    assert at_end > 0
    expect(numbers).to_have_js_property("scrollTop", at_end)
    editor.fill(RULE)
    expect(numbers).to_have_text("\n".join(str(number + 1) for number in range(12)))


def test_what_is_typed_before_the_scripts_are_there_is_checked(
    visitor: Visitor, ada: Person
) -> None:
    visitor.enters(ada)
    page = visitor.context.new_page()
    page.route("**/*.js", lambda _: None)  # they wait
    page.goto(f"{visitor.site.address}/settings/rules/new/", wait_until="commit")
    page.locator("#text").fill("[rul]")
    page.unroute("**/*.js")
    expect(page.locator("#rule-check")).to_contain_text("did you mean 'rule'?")


def test_a_stranger_writes_a_rule_tries_it_and_sees_it_stop_a_run(
    profile: Callable[[], Visitor], ada: Person
) -> None:
    ada.site.ask("change", name=ada.name, is_staff=True, is_superuser=True)  # for the audit
    visitor = profile()
    search_six_times(ada)
    tab = visitor.enters(ada).ask("Which pumps are there?").ended()
    rules = visitor.context.new_page()
    rules.goto(f"{tab.address}/settings/rules/")
    write(rules)

    switch(rules, "shadow")
    search_six_times(ada)
    tab.ask("And now?").ended()
    rules.reload()
    card = rules.locator("li.rule", has_text="Five searches are enough")
    expect(card).to_contain_text("in shadow")

    switch(rules, "on")
    search_six_times(ada, stopped=True)
    tab.ask("And then?").ended("limited").shows(SAID)
    run = ada.runs()[-1]
    assert run["reason"] == "rule_stopped"
    tab.reload().shows(SAID)
    rules.goto(f"{tab.address}/admin/agents/agentrun/{run['id']}/change/")
    expect(rules.locator("main, #content").first).to_contain_text(SAID)
    expect(rules.locator("main, #content").first).to_contain_text("enough-searches")
    told = read_run(tab, run["id"])
    assert told["reason"] == "rule_stopped"
    assert SAID in str(told)
