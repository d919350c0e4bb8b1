"""Networks that break, servers that die, laptops that sleep: the page comes back by itself."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.expectations import expect
from tests.browser.site import Person, Site
from tests.browser.tabs import CUT_OFF, Tab, Visitor
from tests.support.proxy import Proxy
from tests.support.script import Call, calls, say
from tests.support.threaded_endpoint import Held, held


def through(visitor: Visitor, person: Person, proxy: Proxy) -> Tab:
    tab = visitor.enters(person, address=f"http://127.0.0.1:{proxy.port}")
    tab.watch.allowed.append(CUT_OFF)
    return tab


def test_a_run_goes_on_while_the_browser_is_offline_and_the_page_catches_up(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(held("Before the cut, ", "and after it.", gate))
    tab = visitor.enters(ada).ask("Go on whatever happens.").shows("Before the cut,")
    with tab.offline():
        gate.open()
        tab.page.wait_for_function("() => !navigator.onLine")
    tab.connected().ended().shows("Before the cut, and after it.")
    assert len(ada.requests) == 1


def test_a_connection_that_is_reset_in_mid_stream_comes_back_by_itself(
    visitor: Visitor, ada: Person, proxy: Proxy
) -> None:
    gate = ada.gate()
    ada.plays(held("Before the cut, ", "and after it.", gate))
    tab = through(visitor, ada, proxy).ask("Go on.").shows("Before the cut,")
    proxy.turn_away()
    expect(tab.connection).not_to_have_attribute("data-state", "open")
    expect(tab.connection).to_have_text("Reconnecting")
    gate.open()
    proxy.turn_away(False)
    tab.connected().ended().shows("Before the cut, and after it.")
    live = tab.thread_html()
    assert tab.reload().thread_html() == live


LARGE = "\n\n".join(f"Paragraph {n}: " + "word " * 40 for n in range(300))
"""Well above what one message of a browser may have."""


def test_a_large_answer_that_ended_meanwhile_is_shown_after_the_reconnect(
    visitor: Visitor, ada: Person, proxy: Proxy
) -> None:
    gate = ada.gate()
    ada.plays(held("Before the cut.\n\n", LARGE, gate))
    tab = through(visitor, ada, proxy).ask("A lot, please.").shows("Before the cut.")
    proxy.turn_away()
    expect(tab.connection).not_to_have_attribute("data-state", "open")
    gate.open()
    ada.until_idle()
    proxy.turn_away(False)
    tab.ended("completed").shows("Paragraph 299:")
    tab.connected()


def test_a_large_answer_that_comes_all_at_once_is_shown(visitor: Visitor, ada: Person) -> None:
    ada.plays(say(LARGE, pieces=4))
    tab = visitor.enters(ada).ask("A lot, at once.")
    tab.ended("completed").shows("Paragraph 299:")
    assert tab.frames.opened == 1


@pytest.mark.ci
def test_a_large_thread_is_shown_when_another_version_is_chosen(
    visitor: Visitor, ada: Person
) -> None:
    half = LARGE[: len(LARGE) * 2 // 3]
    paced: dict[str, Any] = {"pieces": 40, "piece_delay": 0.01}
    ada.plays(say(half, **paced), say(half, **paced), say("Short."))
    tab = visitor.enters(ada).ask("First?").ended()
    tab.ask("Second?").ended()
    tab.exchanges.first.get_by_role("button", name=re.compile("^Regenerate")).click()
    tab.is_version(2, 2).ended().shows("Short.")
    tab.last.get_by_role("button", name="Previous version").click()
    expect(tab.exchanges).to_have_count(2)
    tab.connected()
    assert tab.frames.opened == 1


@pytest.mark.ci
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_server_that_restarts_in_mid_stream_is_found_again_and_continue_works(
    how: str, visitor: Visitor, ada: Person, site: Site
) -> None:
    """SIGTERM and SIGKILL."""
    ada.plays(held("Before the restart. ", "Never said.", ada.gate()), say("And this is the rest."))
    tab = visitor.enters(ada).ask("Tell me.").shows("Before the restart.")
    tab.watch.allowed.append(CUT_OFF)
    getattr(site, how)()
    expect(tab.connection).not_to_have_attribute("data-state", "open")
    site.start()
    tab.connected().ended("failed").shows("Before the restart.")
    expect(tab.notices("interrupted")).to_have_count(1)
    live = tab.thread_html()
    assert tab.reload().thread_html() == live
    tab.notices("interrupted").get_by_role("button", name="Continue").click()
    expect(tab.exchanges).to_have_count(2)
    tab.ended("completed").shows("And this is the rest.")
    first, second = ada.runs()
    assert (first["answer"], first["reason"]) == ("Before the restart. ", "interrupted")
    assert second["continued_from"] == first["id"]


@pytest.mark.ci
def test_a_tool_call_that_a_kill_cut_is_shown_as_unknown_and_the_next_question_works(
    visitor: Visitor, ada: Person, site: Site
) -> None:
    ada.plays(calls(Call("delegate_librarian", {"task": "Read"})), say("A new beginning."))
    ada.librarian_plays(Held(text="Never.", gate=ada.gate(), after=0))
    tab = visitor.enters(ada).ask("Read it.")
    expect(tab.tools("running")).to_have_count(1)
    ada.until_librarian_is_asked()
    tab.watch.allowed.append(CUT_OFF)
    site.kill()
    site.start()
    tab.connected().ended("failed")
    expect(tab.tools("running")).to_have_count(0)
    expect(tab.notices("interrupted")).to_have_count(1)
    tab.ask("Again, from the beginning?").ended("completed").shows("A new beginning.")


def test_a_socket_that_died_in_the_laptops_sleep_is_noticed_and_replaced(
    profile: Callable[..., Visitor], ada: Person, proxy: Proxy
) -> None:
    visitor = profile(only_here=True)  # its clock
    gate = ada.gate()
    ada.plays(held("Before the sleep, ", "and after it.", gate))
    tab = visitor.tab(f"http://127.0.0.1:{proxy.port}")
    tab.watch.allowed.append(CUT_OFF)
    tab.page.clock.install()
    tab.page.goto(f"{tab.address}/door/enter?name={ada.name}&next=/new/")
    tab.connected().ask("Sleep well.").shows("Before the sleep,")
    proxy.freeze()
    gate.open()
    tab.page.clock.fast_forward(70_000)
    tab.ended().shows("Before the sleep, and after it.")
    tab.connected()
    ada.plays(say("Awake."))
    tab.ask("Are you there?").ended().shows("Awake.")


def test_two_tabs_show_the_same_and_a_question_in_one_appears_in_the_other(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(say("First answer."), held("Second ", "answer.", gate), say("Third answer."))
    one = visitor.enters(ada).ask("First?").ended()
    two = visitor.tab().go(path_of(one.page))
    assert two.thread_html() == one.thread_html()
    one.ask("Second?").shows("Second")
    two.shows("Second").is_running()
    gate.open()
    two.ended().shows("Second answer.")
    one.ended()
    assert two.thread_html() == one.thread_html()
    two.ask("Third?").ended()
    one.ended().shows("Third answer.")
    expect(one.exchanges).to_have_count(3)
    assert two.thread_html() == one.thread_html()


@pytest.mark.ci
def test_answers_that_come_at_once_all_end_in_both_tabs(visitor: Visitor, ada: Person) -> None:
    """A run that is over before the page has looked is no run that goes on for ever."""
    ada.plays(then=say("At once."))
    one = visitor.enters(ada).ask("Quick 0?").ended()
    two = visitor.tab().go(path_of(one.page))
    for number in range(1, 12):
        one.ask(f"Quick {number}?").ended()
        two.shows(f"Quick {number}?").ended()


def path_of(page: Page) -> str:
    return str(page.evaluate("location.pathname"))


def test_a_stop_in_one_tab_stops_the_run_of_the_other(visitor: Visitor, ada: Person) -> None:
    ada.plays(held("On and ", "on.", ada.gate()))
    one = visitor.enters(ada).ask("Go on for ever.").shows("On and")
    two = visitor.tab().go(path_of(one.page)).is_running()
    two.press_stop()
    one.ended("cancelled")
    two.ended("cancelled")


def send_twice(tab: Tab) -> None:
    tab.question.fill("Only once, please.")
    tab.page.locator("#controls button").dblclick()


def enter_twice(tab: Tab) -> None:
    tab.question.fill("Only once, please.")
    tab.page.evaluate(
        """() => {
          const press = () => document.querySelector("#question").dispatchEvent(
            new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}));
          press(); press();
        }"""
    )


@pytest.mark.parametrize("twice", [send_twice, enter_twice])
def test_what_is_sent_twice_is_asked_once(
    twice: Callable[[Tab], None], visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(held("Once ", "only.", gate))
    tab = visitor.enters(ada)
    twice(tab)
    tab.shows("Once")
    gate.open()
    tab.ended("completed")
    expect(tab.exchanges).to_have_count(1)
    expect(tab.question).to_have_value("")
    assert len(ada.runs()) == 1


def test_the_second_click_of_a_slow_double_click_on_send_does_not_stop_the_run(
    profile: Callable[..., Visitor], ada: Person
) -> None:
    """Send turns into Stop in the same place, while the finger is still busy."""
    gate = ada.gate()
    ada.plays(held("Once ", "only.", gate))
    tab = profile(only_here=True).enters(ada)
    tab.page.clock.set_fixed_time(datetime.now(UTC))  # a busy machine is not a slow finger
    tab.question.fill("Only once, please.")
    tab.page.evaluate(
        """() => {
          const click = () => document.querySelector("#controls button").click();
          new MutationObserver((_, observer) => {
            if (document.querySelector("#controls").dataset.running !== "yes") return;
            observer.disconnect();
            click();
          }).observe(document.querySelector("#composer"), {childList: true, subtree: true});
          click();
        }"""
    )
    tab.shows("Once")
    gate.open()
    tab.ended("completed").shows("Once only.")


def test_a_question_sent_while_offline_is_kept_and_sent_once_after_the_reconnect(
    visitor: Visitor, ada: Person, proxy: Proxy
) -> None:
    ada.plays(say("It arrived."))
    tab = through(visitor, ada, proxy)
    proxy.turn_away()
    expect(tab.connection).not_to_have_attribute("data-state", "open")
    tab.send("Sent from a tunnel.")
    expect(tab.page.locator("#flash")).to_contain_text("sent when the connection is back")
    expect(tab.question).to_have_value("Sent from a tunnel.")
    tab.question.press("Enter")
    proxy.turn_away(False)
    tab.connected()
    tab.ended("completed").shows("It arrived.")
    expect(tab.question).to_have_value("")
    expect(tab.page.locator("#flash")).to_have_text("")
    assert [run["question"] for run in ada.runs()] == ["Sent from a tunnel."]


@pytest.mark.parametrize("where", [pytest.param("thinking", marks=pytest.mark.ci), "text"])
def test_a_reload_in_the_middle_shows_the_same_and_goes_on(
    where: str, visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    if where == "thinking":
        reply = Held(thinking="Let me think, carefully.", text="The end.", pieces=[14], gate=gate)
        shown, at_last = "Let me think", "The end."
    else:
        reply = held("One paragraph.\n\nAnd half of ", "another one.", gate)
        shown, at_last = "And half of", "And half of another one."
    ada.plays(reply)
    tab = visitor.enters(ada).ask("Think, then say.").shows(shown)
    before = tab.thread_html()
    assert tab.reload().shows(shown).is_running().thread_html() == before
    gate.open()
    tab.ended().shows(at_last)
    live = tab.thread_html()
    assert tab.reload().thread_html() == live


def test_a_sign_out_in_another_tab_closes_this_one_with_a_notice_and_for_good(
    profile: Callable[..., Visitor], ada: Person
) -> None:
    visitor = profile(only_here=True)  # its clock
    ada.plays(say("Hello."))
    one = visitor.enters(ada).ask("Hello?").ended()
    one.question.fill("A draft that must survive")
    two = visitor.tab().go("/new/")
    two.page.get_by_role("button", name="Sign out").click()
    expect(one.connection).to_have_attribute("data-state", "over")
    expect(one.connection).to_have_text("Signed out")
    expect(one.page.locator("#flash")).to_contain_text("signed out")
    opened = one.frames.opened
    one.page.clock.install()
    one.page.clock.run_for(60_000)
    expect(one.connection).to_have_text("Signed out")
    assert one.frames.opened == opened
    expect(one.question).to_have_value("A draft that must survive")
    one.question.press("Enter")
    expect(one.page.locator("#flash")).to_contain_text("Reload the page")


def test_a_deactivated_account_is_shown_out(visitor: Visitor, ada: Person, site: Site) -> None:
    tab = visitor.enters(ada)
    site.ask("change", name=ada.name, is_active=False)
    expect(tab.connection).to_have_text("Signed out")
    opened = tab.frames.opened
    assert opened == 1


# -- a disk without room --------------------------------------------------------------------------

UNAVAILABLE = re.compile(r"status of 503|Status Error Code 503|htmx:responseError")


def test_a_setting_that_cannot_be_stored_says_why_and_is_saved_later(
    visitor: Visitor, ada: Person, site: Site
) -> None:
    visitor.watch.allowed.append(UNAVAILABLE)
    page = visitor.context.new_page()
    page.goto(f"{site.address}/door/enter?name={ada.name}&next=/settings/")
    with site.full_disk():
        page.locator("#max_iterations").fill("12")
        said = page.locator("#max_iterations-state")
        expect(said).to_contain_text("Not saved. The server's disk")
    page.locator("#max_iterations").fill("13")
    expect(page.locator("#max_iterations-state")).to_contain_text("Saved")
    assert ada.limits()["max_iterations"] == 13


def test_a_page_that_cannot_be_stored_says_what_is_the_matter(
    visitor: Visitor, ada: Person, site: Site
) -> None:
    visitor.watch.allowed.append(UNAVAILABLE)
    page = visitor.context.new_page()
    page.goto(f"{site.address}/sign-in/")
    page.get_by_label("Username").fill(ada.name)
    page.get_by_label("Password").fill("guess")
    with site.full_disk():
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("This cannot be done right now")
        expect(page.get_by_role("alert")).to_contain_text("The server's disk")
