"""Asking, stopping and going on, as hands do it: keys, clicks, drafts, versions, limits."""

import re
from datetime import datetime

import pytest

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Tab, Visitor, resize
from tests.support.script import Call, Fault, call, calls, say
from tests.support.threaded_endpoint import Held, held
from tests.support.wire import RAW_DETAIL

DOUBLE_PRESS_MS = 30
"""So soon after Send became Stop, a press is taken for the second one of Send (composer.js)."""


def hanging_tool(visitor: Visitor, ada: Person) -> Tab:
    """A run whose only tool call hangs."""
    ada.plays(calls(Call("delegate_librarian", {"task": "Read"})), unused_ok=True)
    ada.librarian_plays(Held(text="Never said.", gate=ada.gate(), after=0))
    tab = visitor.enters(ada).ask("Read it all.")
    expect(tab.tools("running")).to_have_count(1)
    ada.until_librarian_is_asked()
    tab.page.wait_for_timeout(DOUBLE_PRESS_MS + 20)
    return tab


def test_stop_during_a_hanging_tool_says_so_and_ends_within_a_second(
    visitor: Visitor, ada: Person
) -> None:
    tab = hanging_tool(visitor, ada)
    button = tab.page.locator("#controls button")
    expect(button).to_have_text("Stop")
    clicked_at, seen = tab.page.evaluate(
        """() => { const b = document.querySelector("#controls button"); const at = Date.now();
                   b.click(); return [at / 1000, b.textContent]; }"""
    )
    tab.ended("cancelled")
    assert seen == "Stopping"
    expect(tab.page.locator("#controls button")).to_have_text("Send")
    expect(tab.notices("cancelled")).to_have_count(1)
    expect(tab.tools("running")).to_have_count(0)
    chunks = ada.run()["chunks"]
    assert chunks[-1]["type"] == "done"
    assert datetime.fromisoformat(chunks[-1]["at"]).timestamp() - clicked_at < 1.0
    assert len(ada.requests) == 1


def test_escape_stops(visitor: Visitor, ada: Person) -> None:
    ada.plays(held("On and ", "on.", ada.gate()))
    tab = visitor.enters(ada).ask("Go on.").shows("On and")
    tab.page.keyboard.press("Escape")
    tab.ended("cancelled").shows("On and")


def test_continue_after_a_stop_goes_on_from_what_was_said(visitor: Visitor, ada: Person) -> None:
    ada.plays(held("First half. ", "Never.", ada.gate()), say("Second half."))
    tab = visitor.enters(ada).ask("Tell me all.").shows("First half.")
    tab.page.keyboard.press("Escape")
    tab.ended("cancelled")
    tab.last.get_by_role("button", name="Continue").click()
    expect(tab.exchanges).to_have_count(2)
    tab.ended("completed").shows("Second half.")
    first, second = ada.runs()
    assert second["continued_from"] == first["id"]
    assert "First half." in str(ada.requests[-1].body["messages"])


# -- limits ---------------------------------------------------------------------------------------


def at_the_turn_limit(visitor: Visitor, ada: Person) -> Tab:
    ada.limits(max_iterations=2)
    ada.plays(call("vault_list"), say("Out of iterations."), say("Now it is complete."))
    return visitor.enters(ada).ask("Look around.").ended("limited")


@pytest.mark.parametrize("saves", [False, True])
def test_raise_and_continue_raises_for_this_run_and_saves_only_when_asked(
    saves: bool, visitor: Visitor, ada: Person
) -> None:
    tab = at_the_turn_limit(visitor, ada)
    notice = tab.notices("limit_reached")
    field = notice.locator('input[type="number"]')
    expect(field).to_have_value("4")
    field.fill("7")
    if saves:
        notice.get_by_role("checkbox").check()
    notice.get_by_role("button", name="Raise and continue").click()
    expect(tab.exchanges).to_have_count(2)
    tab.ended("completed").shows("Now it is complete.")
    expect(tab.last.locator(".meta")).to_contain_text("Iterations 1 / 7")
    _, second = ada.runs()
    assert second["config"]["max_iterations"] == 7
    assert ada.limits()["max_iterations"] == (7 if saves else 2)


def test_plain_continue_keeps_the_limits(visitor: Visitor, ada: Person) -> None:
    tab = at_the_turn_limit(visitor, ada)
    tab.notices("limit_reached").get_by_role("button", name="Continue", exact=True).click()
    expect(tab.exchanges).to_have_count(2)
    tab.ended("completed").shows("Now it is complete.")
    assert ada.runs()[1]["config"]["max_iterations"] == 2


# -- versions -------------------------------------------------------------------------------------


def test_an_edited_question_is_a_second_version_and_both_can_be_shown(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(say("Red."), say("Blue."), say("After blue."))
    tab = visitor.enters(ada).ask("Which colour?").ended()
    tab.last.locator("[data-edit]").click()
    expect(tab.question).to_have_value("Which colour?")
    expect(tab.page.locator("#editing")).to_be_visible()
    tab.send("Which other colour?")
    tab.is_version(2, 2).ended().shows("Blue.")
    expect(tab.exchanges).to_have_count(1)
    expect(tab.page.locator("#editing")).to_be_hidden()
    tab.ask("And then?").ended()
    first = tab.exchanges.first
    first.get_by_role("button", name="Previous version").click()
    expect(first).to_contain_text("Red.")
    expect(tab.exchanges).to_have_count(1)
    tab.is_version(1, 2)
    first.get_by_role("button", name="Next version").click()
    expect(first).to_contain_text("Blue.")
    expect(tab.exchanges).to_have_count(2)
    tab.shows("After blue.")
    live = tab.thread_html()
    assert tab.reload().thread_html() == live


def test_a_regenerated_answer_is_a_second_version(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("Heads."), say("Tails."))
    tab = visitor.enters(ada).ask("Toss a coin.").ended().shows("Heads.")
    tab.last.get_by_role("button", name=re.compile("^Regenerate")).click()
    tab.is_version(2, 2).ended().shows("Tails.")
    expect(tab.exchanges).to_have_count(1)
    tab.last.get_by_role("button", name="Previous version").click()
    tab.is_version(1, 2).shows("Heads.")
    live = tab.thread_html()
    assert tab.reload().shows("Heads.").thread_html() == live


def test_a_switch_of_versions_shows_in_the_other_tab_too(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("Heads."), say("Tails."))
    one = visitor.enters(ada).ask("Toss a coin.").ended()
    two = visitor.tab().go(str(one.page.evaluate("location.pathname")))
    one.last.get_by_role("button", name=re.compile("^Regenerate")).click()
    two.is_version(2, 2).ended().shows("Tails.")
    one.is_version(2, 2).ended()
    one.last.get_by_role("button", name="Previous version").click()
    two.is_version(1, 2).shows("Heads.")


# -- keys -----------------------------------------------------------------------------------------


def test_everything_works_by_keyboard_alone(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("An answer."), held("A long ", "one.", ada.gate()), say("A better answer."))
    tab = visitor.enters(ada)
    keyboard = tab.page.keyboard
    expect(tab.question).to_be_focused()
    for wanted in (tab.page.locator("a.skip"), tab.question):  # round the page, from its top
        keyboard.press("Tab")
        for _ in range(40):
            if wanted.evaluate("e => e === document.activeElement"):
                break
            keyboard.press("Tab")
        expect(wanted).to_be_focused()
    keyboard.type("A first question")
    keyboard.press("Shift+Enter")
    keyboard.type("on two lines")
    keyboard.press("Enter")
    tab.ended().shows("An answer.")
    expect(tab.last.locator(".question-text")).to_contain_text("A first question\non two lines")
    expect(tab.question).to_be_focused()
    keyboard.type("Another")
    keyboard.press("Enter")
    tab.shows("A long")
    for _ in range(10):
        if tab.page.locator("#controls button").evaluate("e => e === document.activeElement"):
            break
        keyboard.press("Tab")
    keyboard.press("Enter")
    tab.ended("cancelled")
    tab.question.focus()
    keyboard.press("ArrowUp")
    expect(tab.question).to_have_value("Another")
    keyboard.press("End")
    keyboard.type(" one, better")
    keyboard.press("Enter")
    tab.is_version(2, 2).ended().shows("A better answer.")


def test_shortcuts_search_start_a_chat_and_help(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("Hello."))
    tab = visitor.enters(ada).ask("Hello?").ended()
    tab.page.keyboard.press("Control+k")
    expect(tab.page.locator("#search")).to_be_focused()
    tab.page.keyboard.press("Control+/")
    expect(tab.page.locator("dialog[open]")).to_be_visible()
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("Control+Shift+O")
    tab.page.wait_for_url("**/new/")
    expect(tab.page.locator("#empty")).to_be_visible()


def test_enter_that_ends_a_composition_does_not_send(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("はい。"))
    tab = visitor.enters(ada)
    tab.question.focus()
    session = tab.page.context.new_cdp_session(tab.page)
    composing = {"text": "にほん", "selectionStart": 3, "selectionEnd": 3}
    session.send("Input.imeSetComposition", composing)
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
    session.send("Input.insertText", {"text": "日本"})
    expect(tab.question).to_have_value(re.compile("日本"))
    assert [frame for frame in tab.frames.sent if '"submit"' in frame] == []
    tab.page.keyboard.press("Enter")
    tab.ended().shows("はい。")
    assert ada.run()["question"] == "日本"


# -- around it ------------------------------------------------------------------------------------


def test_a_run_that_ends_in_a_background_tab_shows_in_its_title(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(held("Half, ", "whole.", gate))
    tab = visitor.enters(ada).ask("Take your time.").shows("Half,")
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    tab.page.evaluate(hide, True)
    gate.open()
    tab.ended()
    expect(tab.page).to_have_title(re.compile("^●"))
    tab.page.evaluate(hide, False)
    expect(tab.page).not_to_have_title(re.compile("^●"))


def test_a_draft_survives_a_reload_and_is_kept_for_each_conversation(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(say("Hello."))
    tab = visitor.enters(ada).ask("Hello?").ended()
    path = str(tab.page.evaluate("location.pathname"))
    tab.question.press_sequentially("Half a thought")
    tab.reload()
    expect(tab.question).to_have_value("Half a thought")
    tab.go("/new/")
    expect(tab.question).to_have_value("")
    tab.question.press_sequentially("Another thought")
    tab.go(path)
    expect(tab.question).to_have_value("Half a thought")
    tab.go("/new/")
    expect(tab.question).to_have_value("Another thought")


def test_a_sent_question_leaves_no_draft(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("Hello."))
    tab = visitor.enters(ada)
    tab.question.press_sequentially("Hello?")
    tab.question.press("Enter")
    tab.ended()
    expect(tab.question).to_have_value("")
    tab.reload()
    expect(tab.question).to_have_value("")
    tab.go("/new/")
    expect(tab.question).to_have_value("")


def test_a_question_that_is_refused_stays_in_the_composer(visitor: Visitor, ada: Person) -> None:
    """Two questions at once in one conversation: one runs, the other is told so."""
    gate = ada.gate()
    ada.plays(say("Hello."), held("Still ", "busy.", gate))
    one = visitor.enters(ada).ask("Hello?").ended()
    two = visitor.tab().go(str(one.page.evaluate("location.pathname")))
    two.question.fill("Me too!")
    two.page.evaluate("document.querySelector('#controls').dataset.running = 'no'")
    one.ask("Be busy.").shows("Still")
    two.shows("Still")
    two.page.evaluate(
        """() => { document.querySelector("#controls").dataset.running = "no";
                   document.querySelector("#composer").requestSubmit(); }"""
    )
    expect(two.page.locator("#flash")).not_to_be_empty()
    expect(two.question).to_have_value("Me too!")
    gate.open()
    one.ended()
    assert len(ada.runs()) == 2


def test_the_polite_line_speaks_at_boundaries_only(visitor: Visitor, ada: Person) -> None:
    text = " ".join(f"word{n}" for n in range(200))
    ada.plays(call("vault_search", queries=["radar"]), say(text, piece_delay=0.003))
    tab = visitor.enters(ada)
    tab.page.evaluate(
        """() => {
          window.said = [];
          new MutationObserver(() => {
            const text = document.querySelector("#announce").textContent;
            if (text && said[said.length - 1] !== text) said.push(text);
          }).observe(document.body, {childList: true, subtree: true, characterData: true});
        }"""
    )
    tab.ask("Look, then tell.").ended()
    expect(tab.page.locator("#announce")).to_have_text("Answer complete")
    said = tab.page.evaluate("window.said")
    assert said[-1] == "Answer complete"
    assert len(said) <= 3
    expect(tab.page.locator("#thread")).to_have_attribute("aria-live", "off")


def test_the_page_follows_the_text_until_the_reader_scrolls_up(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(held("line\n\n" * 80, "the end\n\n" * 20, gate))
    tab = visitor.enters(ada).ask("Many lines.")
    expect(tab.last.locator(".block")).not_to_have_count(0)
    at_end = (
        "() => { const s = document.querySelector('#scroll');"
        " return s.scrollHeight > s.clientHeight + 500"
        " && s.scrollHeight - s.scrollTop - s.clientHeight < 64; }"
    )
    tab.page.wait_for_function(at_end)
    expect(tab.page.locator("#latest")).to_be_hidden()
    tab.page.locator("#scroll").hover()
    tab.page.mouse.wheel(0, -1500)
    expect(tab.page.locator("#latest")).to_be_visible()
    before = tab.page.evaluate("document.querySelector('#scroll').scrollTop")
    gate.open()
    tab.ended()
    assert abs(tab.page.evaluate("document.querySelector('#scroll').scrollTop") - before) < 5
    tab.page.locator("#latest").click()
    tab.page.wait_for_function(at_end)
    expect(tab.page.locator("#latest")).to_be_hidden()


def test_a_provider_that_fails_is_explained_without_its_own_words_and_continue_works(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(Fault("status_401"), say("Now it works."))
    tab = visitor.enters(ada).ask("Anybody there?").ended("failed")
    expect(tab.notices().last).to_contain_text("key")
    expect(tab.page.locator("body")).not_to_contain_text(RAW_DETAIL)
    tab.last.get_by_role("button", name="Continue").click()
    expect(tab.exchanges).to_have_count(2)
    tab.ended("completed").shows("Now it works.")


def test_a_question_goes_to_the_model_that_was_chosen_for_it(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("By the first."), say("The first again."))
    ada.second_model_plays(say("By the second."), say("The second again."))
    tab = visitor.enters(ada).ask("Who are you?").ended().shows("By the first.")
    tab.page.get_by_label("Model").select_option("second-model")
    tab.ask("And you?").ended().shows("By the second.")
    expect(tab.last.locator(".meta")).to_contain_text("second-model")
    tab.last.get_by_role("button", name="Regenerate").click()  # of the same model
    tab.shows("The second again.")
    tab.reload()
    expect(tab.page.get_by_label("Model")).to_have_value("second-model")
    tab.page.get_by_label("Model").select_option(ada.name)
    tab.ask("The first, please.").ended().shows("The first again.")


WIDTHS = (320, 360, 430, 600, 768, 820, 900, 1200)


@pytest.mark.ci
def test_nothing_is_wider_than_the_page(visitor: Visitor, ada: Person) -> None:
    ada.plays(say("Noted, with `code` and a [link](https://a.example)."))
    tab = visitor.enters(ada).ask("Is it all there?").ended()
    for width in WIDTHS:
        resize(tab.page, width, 800)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        send = tab.page.locator("#controls button").bounding_box()
        assert send is not None
        assert send["x"] + send["width"] <= width
    for width in WIDTHS:
        resize(tab.page, width, 800)
        tab.go("/new/")
        assert tab.page.evaluate("document.querySelector('#scroll').scrollTop") == 0


def test_a_question_during_a_run_is_answered_with_a_sentence(visitor: Visitor, ada: Person) -> None:
    gate = ada.gate()
    ada.plays(held("So far ", "and done.", gate))
    tab = visitor.enters(ada).ask("A long story, please.").shows("So far")
    tab.send("And another?")
    expect(tab.page.locator("#flash")).to_contain_text("already in progress")
    expect(tab.question).to_have_value("And another?")
    gate.open()
    tab.ended()
