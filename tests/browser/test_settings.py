"""The settings in a real browser: changing limits, how long that takes, and bad moments."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, Route

from agents.core.config import LIMITS, AgentConfigBounds
from tests.browser.expectations import expect
from tests.browser.site import Person, Site
from tests.browser.tabs import CUT_OFF, Visitor, resize
from tests.support.script import call, say

REFUSED = re.compile(r"status of (401|409|422)|Status Error Code 401|htmx:responseError")
"""What Chromium writes about an answer that says no, also when the page shows it properly."""
PATHS = (
    "/settings/", "/settings/models/", "/settings/notifications/",
    "/settings/rules/", "/settings/rules/new/",
    "/settings/appearance/", "/settings/data/",
    "/settings/tokens/", "/settings/changes/", "/usage/",
)  # fmt: skip
USER_SECONDS = 30
"""What changing all limits may take somebody."""
KEY_MS = 60
"""Between two keys, as somebody types who knows how."""


def opened(visitor: Visitor, person: Person, path: str = "/settings/") -> Page:
    """A tab of somebody; they sign in with their first one."""
    visitor.watch.allowed.append(REFUSED)
    # Not by its cookies: a late answer to the test before may have left some.
    signed_in = any(tab.url.startswith(visitor.site.address) for tab in visitor.context.pages)
    page = visitor.context.new_page()
    door = path if signed_in else f"/door/enter?name={person.name}&next={path}"
    page.goto(visitor.site.address + door)
    return page


def number(page: Page, name: str) -> Locator:
    return page.locator(f"#{name}")


def slider(page: Page, name: str) -> Locator:
    return page.locator(f"#{name}-slider")


def state(page: Page, name: str) -> Locator:
    return page.locator(f"#{name}-state")


def saved(page: Page, name: str) -> None:
    expect(state(page, name)).to_have_text(re.compile(r"^\s*Saved \d\d:\d\d\s*$"))


def typed(page: Page, name: str, text: str) -> None:
    number(page, name).fill(text)


def shows(page: Page, name: str, value: int) -> None:
    """Number and slider."""
    expect(number(page, name)).to_have_value(str(value))
    expect(slider(page, name)).to_have_value(str(value))


# -- US1 ------------------------------------------------------------------------------------------


def test_us1_1_a_slider_moved_from_15_to_10_is_saved_and_shown_after_a_reload(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    shows(page, "max_iterations", 15)
    slider(page, "max_iterations").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    saved(page, "max_iterations")
    page.reload()
    shows(page, "max_iterations", 10)
    assert ada.limits()["max_iterations"] == 10


def test_us1_2_a_new_conversation_respects_the_limits_that_were_set(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    typed(page, "max_iterations", "2")
    saved(page, "max_iterations")
    ada.plays(call("vault_read", path="people.md"), say("Mara leads it."))
    tab = visitor.enters(ada).ask("Who leads it?").ended("limited")
    expect(tab.last.locator(".explanation")).to_contain_text("2 of 2 iterations")
    assert ada.run()["config"]["max_iterations"] == 2


INVALID = ("0", "51", "-1", "1.5", "1e9", "", "words", "🙂", "9" * 10_000)


def test_us1_3_what_is_invalid_is_not_saved_and_the_message_helps(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    field = number(page, "max_iterations")
    for using, text in enumerate(INVALID, LIMITS["max_iterations"].default):
        before = ada.limits()
        assert before["max_iterations"] == using
        typed(page, "max_iterations", text)
        if text != INVALID[0]:
            field.press("Enter")  # it need not be waited for each time
        expect(state(page, "max_iterations")).to_have_text(
            f"Not saved. Must be a whole number from 1 to 50. Still using {using}."
        )
        expect(field).to_have_value(text)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_be_focused()
        assert ada.limits() == before
        typed(page, "max_iterations", str(using + 1))
        field.press("Enter")
        saved(page, "max_iterations")
        expect(field).to_have_attribute("aria-invalid", "false")


# -- how long it takes ----------------------------------------------------------------------------


def another(limit: AgentConfigBounds) -> int:
    """A value that is neither the default nor an end."""
    value = limit.minimum + (limit.maximum - limit.minimum) // 3
    return value if value != limit.default else value + 1


def by_keyboard(page: Page) -> dict[str, int]:
    """From one control to the next by Tab, the old number selected by it, a new one typed."""
    slider(page, next(iter(LIMITS))).focus()
    wanted = {name: another(limit) for name, limit in LIMITS.items()}
    for name, value in wanted.items():
        while page.evaluate("document.activeElement.id") != name:
            page.keyboard.press("Tab", delay=KEY_MS)
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.type(str(value), delay=KEY_MS)
        saved(page, name)
    return wanted


def by_pointer(page: Page) -> dict[str, int]:
    """Every slider dragged to another place."""
    wanted = {}
    for name in LIMITS:
        slider(page, name).scroll_into_view_if_needed()
        box = slider(page, name).bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.4, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=8)
        page.mouse.up()
        saved(page, name)
        wanted[name] = int(number(page, name).input_value())
        assert wanted[name] not in (LIMITS[name].default, LIMITS[name].minimum)
    return wanted


@pytest.mark.timed
@pytest.mark.parametrize("change", [by_pointer, by_keyboard])
def test_sc_001_all_seven_values_are_changed_within_thirty_seconds_and_found_after_a_reload(
    visitor: Visitor, ada: Person, change: Callable[[Page], dict[str, int]]
) -> None:
    page = opened(visitor, ada)
    began = time.monotonic()
    wanted = change(page)
    page.reload()
    for name, value in wanted.items():
        expect(number(page, name)).to_have_value(str(value))
    took = time.monotonic() - began
    print(f"all limits by {change.__name__}: {took:.1f} s")
    assert len(wanted) == 7
    assert ada.limits() == wanted
    assert took < USER_SECONDS


# -- two tabs -------------------------------------------------------------------------------------


def conflict(visitor: Visitor, ada: Person) -> Page:
    """Another tab has made it 20; here 10 was typed."""
    page, other = opened(visitor, ada), opened(visitor, ada)
    typed(other, "max_iterations", "20")
    saved(other, "max_iterations")
    typed(page, "max_iterations", "10")
    expect(state(page, "max_iterations")).to_contain_text("Changed elsewhere to 20.")
    assert ada.limits()["max_iterations"] == 20
    return page


def test_what_another_tab_changed_can_be_used(visitor: Visitor, ada: Person) -> None:
    page = conflict(visitor, ada)
    page.get_by_text("Use 20").click()
    shows(page, "max_iterations", 20)
    expect(number(page, "max_iterations")).to_be_focused()
    assert ada.limits()["max_iterations"] == 20
    typed(page, "max_iterations", "21")
    saved(page, "max_iterations")


def test_what_was_typed_here_can_be_kept(visitor: Visitor, ada: Person) -> None:
    page = conflict(visitor, ada)
    page.get_by_role("button", name="Keep mine").click()
    saved(page, "max_iterations")
    assert ada.limits()["max_iterations"] == 10


def test_a_change_of_another_setting_elsewhere_is_no_conflict(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    ada.limits(token_budget=60_000)
    typed(page, "max_iterations", "10")
    saved(page, "max_iterations")
    assert ada.limits()["token_budget"] == 60_000


def test_a_tab_that_is_looked_at_again_takes_over_what_was_changed_elsewhere(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    typed(page, "timeout_seconds", "9")
    expect(state(page, "timeout_seconds")).to_contain_text("Not saved.")
    ada.limits(max_iterations=20, timeout_seconds=300)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    shows(page, "max_iterations", 20)
    expect(page.locator("#preview")).to_contain_text("a run ends after 20 iterations")
    expect(number(page, "timeout_seconds")).to_have_value("9")  # somebody is at it
    typed(page, "max_iterations", "22")
    saved(page, "max_iterations")


# -- keyboard, resets, slow and broken lines ------------------------------------------------------


def slowly(route: Route) -> None:
    time.sleep(0.3)
    route.continue_()


def test_a_save_leaves_focus_caret_and_what_is_being_typed_alone(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    number(page, "token_budget").fill("")
    page.route("**/limits/token_budget/", slowly)
    number(page, "token_budget").press_sequentially("6000", delay=20)
    page.wait_for_timeout(450)  # the first save is under way
    page.keyboard.type("0")
    saved(page, "token_budget")
    expect(number(page, "token_budget")).to_have_value("60000")
    expect(number(page, "token_budget")).to_be_focused()
    page.wait_for_timeout(1_000)
    saved(page, "token_budget")
    assert ada.limits()["token_budget"] == 60_000


def test_enter_saves_at_once_and_resets_nothing(visitor: Visitor, ada: Person) -> None:
    ada.limits(max_iterations=20)
    page = opened(visitor, ada)
    typed(page, "max_iterations", "10")
    page.keyboard.press("Enter")
    saved(page, "max_iterations")
    expect(number(page, "max_iterations")).to_have_value("10")
    assert page.url.endswith("/settings/")
    assert ada.limits()["max_iterations"] == 10


@pytest.mark.ci
def test_one_limit_is_reset_by_keyboard_and_the_focus_stays_with_it(
    visitor: Visitor, ada: Person
) -> None:
    ada.limits(max_iterations=20, token_budget=60_000)
    page = opened(visitor, ada)
    page.get_by_role("button", name="Reset to 15").press("Enter")
    shows(page, "max_iterations", 15)
    expect(number(page, "max_iterations")).to_be_focused()
    expect(page.get_by_role("button", name="Reset to 15")).to_have_count(0)
    limits = ada.limits()
    assert (limits["max_iterations"], limits["token_budget"]) == (15, 60_000)


@pytest.mark.ci
def test_all_limits_are_reset_at_once(visitor: Visitor, ada: Person) -> None:
    ada.limits(**{name: limit.minimum for name, limit in LIMITS.items()})
    page = opened(visitor, ada)
    page.get_by_role("button", name="Reset all to defaults").click()
    expect(page.get_by_text("Everything here is back to its default.")).to_be_visible()
    assert ada.limits() == {name: limit.default for name, limit in LIMITS.items()}


@pytest.mark.ci
def test_the_preview_follows_what_is_saved(visitor: Visitor, ada: Person) -> None:
    page = opened(visitor, ada)
    expect(page.locator("#preview")).to_contain_text("About 11 iterations before the first warning")
    typed(page, "max_iterations", "30")
    expect(page.locator("#preview")).to_contain_text("About 21 iterations before the first warning")


@pytest.mark.ci
def test_a_budget_below_which_no_tool_can_be_used_is_amber_as_soon_as_it_is_chosen(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    told = page.locator("#token_budget-meaning")
    expect(told).to_contain_text(re.compile(r"tools can be used from about \d,\d00 tokens on"))
    amber = str(
        page.evaluate(
            "() => { const e = document.createElement('i'); e.style.color = 'var(--amber-ink)';"
            " document.body.append(e); return getComputedStyle(e).color; }"
        )
    )
    expect(told).not_to_have_css("color", amber)
    typed(page, "token_budget", "1000")
    saved(page, "token_budget")
    expect(told).to_contain_text("1,000 tokens")
    expect(told.locator(".amber")).to_have_css("color", amber)
    page.reload()
    expect(told.locator(".amber")).to_contain_text("1,000 tokens")
    page.get_by_role("button", name="Reset to 50,000").click()
    expect(told.locator(".amber")).to_have_count(0)
    expect(told).to_contain_text("tools can be used from about")


@pytest.mark.ci
def test_one_iteration_is_kept_for_the_answer_and_the_page_says_so(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    told = page.locator("#max_iterations-meaning")
    expect(told).to_have_text("14 iterations with tools, and one for the answer.")
    for value, words in {"1": "No iteration with tools", "2": "1 iteration with tools"}.items():
        typed(page, "max_iterations", value)
        expect(told).to_contain_text(words)


@pytest.mark.ci
def test_the_mode_is_chosen_and_the_composer_has_it(visitor: Visitor, ada: Person) -> None:
    page = opened(visitor, ada)
    page.locator("#default_tree").select_option("quick")
    saved(page, "default_tree")
    tab = visitor.enters(ada)
    expect(tab.page.locator("[name=tree]")).to_have_value("quick")


def test_without_a_network_the_page_says_that_nothing_was_saved(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    visitor.watch.allowed.append(CUT_OFF)
    visitor.context.set_offline(True)
    typed(page, "max_iterations", "10")
    expect(state(page, "max_iterations")).to_contain_text("Not saved. The server does not answer.")
    visitor.context.set_offline(False)
    typed(page, "max_iterations", "11")
    saved(page, "max_iterations")


def test_whoever_was_signed_out_meanwhile_is_told_and_sees_no_page_in_the_page(
    visitor: Visitor, ada: Person
) -> None:
    page = opened(visitor, ada)
    visitor.context.clear_cookies(name="sessionid")
    typed(page, "max_iterations", "10")
    expect(state(page, "max_iterations")).to_contain_text("Not saved. You are signed out.")
    expect(page.locator("[type=password]")).to_have_count(0)
    assert ada.limits()["max_iterations"] == 15


# -- without JavaScript ---------------------------------------------------------------------------


@pytest.mark.ci
def test_without_javascript_every_setting_has_a_button(
    browser: Browser, site: Site, ada: Person
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{site.address}/door/enter?name={ada.name}&next=/settings/")
        expect(slider(page, "max_iterations")).to_be_hidden()
        form = page.locator("#setting-max_iterations")
        number(page, "max_iterations").fill("10")
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Max iterations: 10 is saved.")).to_be_visible()
        number(page, "max_iterations").fill("51")
        form.get_by_role("button", name="Save").click()
        expect(state(page, "max_iterations")).to_contain_text("Still using 10.")
        expect(number(page, "max_iterations")).to_have_value("51")
        form.get_by_role("button", name="Reset to 15").click()
        expect(number(page, "max_iterations")).to_have_value("15")
        ada.limits(max_iterations=20)
        number(page, "max_iterations").fill("10")
        form.get_by_role("button", name="Save").click()
        expect(state(page, "max_iterations")).to_contain_text("Changed elsewhere to 20.")
        form.get_by_role("button", name="Keep mine").click()
        expect(page.get_by_text("Max iterations: 10 is saved.")).to_be_visible()
    assert ada.limits()["max_iterations"] == 10


# -- the other pages ------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_theme_is_worn_at_once_and_on_every_page(visitor: Visitor, ada: Person) -> None:
    page = opened(visitor, ada, "/settings/appearance/")
    page.get_by_label("Dark").check()
    saved(page, "theme")
    worn = page.locator("html")
    expect(worn).to_have_attribute("data-theme", "dark")
    expect(worn).to_have_css("color-scheme", "dark")
    tab = visitor.enters(ada)
    expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.ci
def test_a_token_is_shown_once_and_revoked(visitor: Visitor, ada: Person) -> None:
    page = opened(visitor, ada, "/settings/tokens/")
    page.get_by_label("Name").fill("Backup")
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_label("The new token")).to_have_value(re.compile("^oracle_.{40,}$"))
    page.goto(page.url)
    expect(page.get_by_label("The new token")).to_have_count(0)
    page.get_by_role("button", name="Revoke Backup").click()
    expect(page.get_by_text("You have no tokens.")).to_be_visible()


@pytest.mark.ci
def test_everything_is_downloaded(visitor: Visitor, ada: Person) -> None:
    page = opened(visitor, ada, "/settings/data/")
    with page.expect_download() as download:
        page.get_by_text("Export everything").click()
    assert download.value.suggested_filename == f"oracle-{ada.name}.json"
    assert ada.name in download.value.path().read_text()


@pytest.mark.ci
def test_every_page_fits_a_narrow_phone(visitor: Visitor, ada: Person) -> None:
    page = opened(visitor, ada)
    here = page.get_by_role("navigation", name="Settings").locator("[aria-current]")
    for path in PATHS:
        page.goto(visitor.site.address + path)
        for width in (360, 320):
            resize(page, width, 740)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        expect(here).to_have_count(1)


@pytest.mark.ci
def test_the_sidebar_leads_to_the_settings(visitor: Visitor, ada: Person) -> None:
    tab = visitor.enters(ada)
    tab.page.get_by_role("link", name="Settings").click()
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("Agent")


def test_who_leaves_at_once_loses_nothing(visitor: Visitor, ada: Person) -> None:
    page = opened(visitor, ada)
    typed(page, "max_parallel_tools", "7")
    page.get_by_role("link", name="Models").click()
    expect(page.get_by_role("heading", name="Models", level=1)).to_be_visible()
    page.get_by_role("link", name="Agent").click()
    expect(number(page, "max_parallel_tools")).to_have_value("7")


@pytest.mark.ci
def test_the_models_page_too_shows_what_was_changed_elsewhere(
    visitor: Visitor, ada: Person
) -> None:
    one = opened(visitor, ada, "/settings/models/")
    two = opened(visitor, ada, "/settings/models/")
    two.locator("#max_context_nodes").fill("12")
    saved(two, "max_context_nodes")
    one.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(one.locator("#max_context_nodes")).to_have_value("12")
