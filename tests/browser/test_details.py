"""Small things that people notice on the chat page: focus, keys, lines that come and go, links."""

import re
from pathlib import Path

import pytest

from tests.browser.dropping import drop, drop_words
from tests.browser.expectations import expect
from tests.browser.site import SECOND_MODEL, SETTINGS, Person, Site
from tests.browser.tabs import Visitor, resize
from tests.support.script import Call, Fault, Step, call, calls, say, when_tool_free
from tests.support.server import manage
from tests.support.threaded_endpoint import held

pytestmark = pytest.mark.ci

# -- focus ----------------------------------------------------------------------------------------


def test_the_composer_has_focus_on_every_new_chat(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("So."))
    tab = visitor.enters(ada)
    expect(tab.question).to_be_focused()
    tab.ask("Why?").ended()
    tab.page.locator("#new-chat").click()
    expect(tab.connected().page.locator("#empty")).to_be_visible()
    expect(tab.question).to_be_focused()
    tab.page.goto(f"{tab.address}/runs/")
    tab.page.go_back()
    expect(tab.connected().question).to_be_focused()


def test_the_composer_has_focus_when_a_key_brings_a_new_chat(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("So."))
    tab = visitor.enters(ada).ask("Why?").ended()
    tab.page.locator(".answer-tools button").first.focus()
    tab.page.keyboard.press("Control+Shift+O")
    expect(tab.page.locator("#empty")).to_be_visible()
    expect(tab.connected().question).to_be_focused()
    tab.page.keyboard.type("Typed at once")
    expect(tab.question).to_have_value("Typed at once")


# -- Esc ------------------------------------------------------------------------------------------


def test_escape_leaves_edit_mode_and_brings_the_draft_back(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("So."))
    tab = visitor.enters(ada).ask("Why is it so?").ended()
    tab.question.fill("My draft")
    tab.last.hover()
    tab.last.get_by_role("button", name="Edit question").click()
    expect(tab.page.locator("#editing")).to_be_visible()
    expect(tab.question).to_have_value("Why is it so?")
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#editing")).to_be_hidden()
    expect(tab.question).to_have_value("My draft")
    expect(tab.question).to_be_focused()


def test_escape_leaves_edit_mode_first_and_stops_the_run_then(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(say("So."), held("On and ", "on.", ada.gate()))
    tab = visitor.enters(ada).ask("Why?").ended().ask("And then?").shows("On and")
    tab.exchanges.first.hover()
    tab.exchanges.first.get_by_role("button", name="Edit question").click()
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#editing")).to_be_hidden()
    tab.is_running()
    tab.page.keyboard.press("Escape")
    tab.ended("cancelled")


# -- lines that come and go -----------------------------------------------------------------------


def test_the_line_that_a_run_is_going_leaves_with_the_run(visitor: Visitor, ada: Person) -> None:
    gate = ada.gate()
    ada.plays(held("One and ", "one.", gate))
    tab = visitor.enters(ada).ask("First?").shows("One and")
    tab.send("Second?")
    flash = tab.page.locator("#flash")
    expect(flash).to_contain_text("already in progress")
    gate.open()
    tab.ended()
    expect(flash).to_be_empty()
    expect(tab.question).to_have_value("Second?")


def test_what_else_was_refused_stays_when_a_run_ends(visitor: Visitor, ada: Person) -> None:
    gate = ada.gate()
    ada.plays(held("One and ", "one.", gate))
    tab = visitor.enters(ada).ask("First?").shows("One and")
    tab.send("x" * 16_001)
    flash = tab.page.locator("#flash")
    expect(flash).to_contain_text("16,000 characters are allowed")
    gate.open()
    tab.ended()
    expect(flash).to_contain_text("16,000 characters are allowed")


def test_a_file_that_is_dropped_on_a_chat_is_not_opened_and_the_page_says_where_files_go(
    visitor: Visitor, ada: Person, tmp_path: Path
) -> None:
    plain = tmp_path / "Pier.md"
    plain.write_text("It is wide.")
    ada.plays(say("So it is."))
    tab = visitor.enters(ada)
    address = tab.page.url
    for place in ("#scroll", "#question"):
        drop(tab.page, plain, on=place)
        expect(tab.page.locator("#flash")).to_contain_text("Files are added in the library")
        assert tab.page.url == address  # and the profile has seen no request for the file
        tab.page.evaluate("document.querySelector('#flash').textContent = ''")
    drop_words(tab.page, "Is it wide?", tab.question)
    expect(tab.question).to_have_value("Is it wide?")
    expect(tab.page.locator("#flash")).to_be_empty()
    tab.ask("Is it wide?").ended()


def test_jump_to_latest_is_not_on_an_empty_page(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("Some words. " * 300))
    tab = visitor.enters(ada)
    resize(tab.page, 320, 420)
    scroll = tab.page.locator("#scroll")
    assert scroll.evaluate("e => e.scrollHeight - e.clientHeight") > 64
    latest = tab.page.locator("#latest")
    expect(latest).to_be_hidden()
    tab.ask("Tell me a lot.").ended()
    scroll.evaluate("e => e.scrollTo(0, 0)")
    expect(latest).to_be_visible()


# -- what is announced ----------------------------------------------------------------------------


SLOW = {"delay": 0.4}
"""So that a page follows the run before it ends."""
BROKEN = Fault("error_object_in_stream", after=1)
LISTS = calls(Call("vault_list", {}), **SLOW)
ENDINGS: list[tuple[list[Step], str, str]] = [
    ([say("It is so.", **SLOW)], "completed", "Answer complete"),
    ([say("It goes on", finish="length", **SLOW)], "limited", "Answer cut off"),
    ([LISTS, when_tool_free(say("So far."), otherwise=LISTS)], "limited", "Answer complete"),
    ([LISTS, LISTS], "limited", "Ended without an answer"),
    ([say("It is so.", fault=BROKEN, **SLOW)], "failed", "The run failed"),
]
"""What the model does, how the run ends, what is said: each time other words than before."""


def test_only_an_answer_is_announced_as_complete(visitor: Visitor, ada: Person) -> None:
    ada.limits(max_iterations=2)
    tab = visitor.enters(ada)
    for steps, outcome, said in ENDINGS:
        ada.plays(*steps)
        tab.ask("Why?").ended(outcome)
        expect(tab.page.locator("#announce")).to_have_text(said)
        assert ada.problems() == []


def test_a_stop_is_announced_as_a_stop(visitor: Visitor, ada: Person) -> None:
    ada.plays(held("On and ", "on.", ada.gate()))
    tab = visitor.enters(ada).ask("Go on.").shows("On and")
    tab.press_stop()
    tab.ended("cancelled")
    expect(tab.page.locator("#announce")).to_have_text(re.compile("^Stopped"))


# -- runs of the terminal -------------------------------------------------------------------------


def test_a_run_of_the_terminal_is_a_conversation_and_its_links_lead_to_the_answer(
    visitor: Visitor, ada: Person, site: Site
) -> None:
    ada.plays(say("It hangs on the **north pier**."))
    manage(
        site.folder,
        *("ask", "--user", ada.name, "Where does the radar hang?"),
        DJANGO_SETTINGS_MODULE=SETTINGS,
        ORACLE_LLM_BASE_URL=site.stage.base_url,
        ORACLE_LLM_MODELS=SECOND_MODEL,
    )
    tab = visitor.enters(ada)
    expect(tab.page.locator("#conversations")).to_contain_text("Where does the radar hang?")
    for start in ("/new/", "/runs/"):
        tab.page.goto(tab.address + start)
        tab.page.locator("main").get_by_role("link", name="Where does the radar hang?").click()
        expect(tab.connected().last).to_contain_text("It hangs on the north pier.")
    ada.plays(say("Since May."))
    tab.ask("Since when?").ended().shows("Since May.")
    assert [run["exchanges"] for run in ada.runs()] == [1, 1]


# -- a limit's row --------------------------------------------------------------------------------


def test_a_limit_makes_one_row_at_the_end_of_its_answer_live_and_on_reload(
    visitor: Visitor, ada: Person
) -> None:
    """While the last answer is written, the notice of the wrap-up stands there."""
    ada.limits(max_iterations=3)
    gate = ada.gate()
    ada.plays(call("vault_list"), call("vault_read", path="people.md"), held("So ", "far.", gate))
    tab = visitor.enters(ada).ask("Look around.").shows("So")
    rows = "e => [...e.querySelectorAll('.notice[data-type], .prose')].map(x => x.dataset.type)"
    expect(tab.notices("limit_warning")).to_have_count(2)
    assert tab.last.locator(".answer").evaluate(rows)[-2:] == [None, "limit_warning"]
    tab.reload()
    assert tab.last.locator(".answer").evaluate(rows)[-2:] == [None, "limit_warning"]
    gate.open()
    tab.ended("limited")
    expect(tab.notices()).to_have_count(2)
    live = tab.thread_html()
    assert tab.reload().thread_html() == live
    answer = tab.last.locator(".parts, .closing")
    expect(answer.last.locator(".notice")).to_have_attribute("data-type", "limit_reached")
    expect(tab.last.get_by_role("button", name="Raise and continue")).to_be_visible()
