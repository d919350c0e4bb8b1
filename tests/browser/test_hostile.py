"""Hostile text in real Chromium: shown, never obeyed.

Many payloads share a page. Scripts that run, dialogs, requests to other sites and broken rules of
the content security policy fail every browser test; here it is also counted what is in the page.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Locator

from agents.core.sanitize import replace_unstorable
from agents.vault.errors import NoteRefused
from agents.vault.paths import make_key, validate_note_path
from tests.browser.expectations import expect
from tests.browser.site import Person, Site
from tests.browser.tabs import Tab, Visitor
from tests.support.hostile import COLLECTIONS
from tests.support.script import Call, Reply, calls, say

pytestmark = pytest.mark.ci

SHAPE = """
(inside) => {
  const bad = [], shape = [], tags = new Set();
  const allowed = new Set(["class", "href", "rel", "target", "start"]);
  const ours = new Set(["tabindex=0"]);  // what scrolls sideways can be reached by keyboard
  for (const e of document.querySelectorAll("*")) {
    const holder = e.parentElement && e.parentElement.closest(inside);
    if (!holder) { shape.push(e.tagName + (e.closest("#thread") ? "" : "#" + e.id)); continue; }
    if (e.closest(".code-head button")) continue;  // put there by the page itself
    tags.add(e.tagName);
    for (const a of e.attributes) {
      const pair = `${a.name}=${a.value}`;
      if (!allowed.has(a.name) && !ours.has(pair)) bad.push(`${e.tagName} ${pair}`);
      const safe = ["http:", "https:", "mailto:"].includes(e.protocol);
      if (a.name === "href" && !safe) bad.push(`${e.tagName} ${pair}`);
    }
  }
  return {bad, shape, tags: [...tags], pwned: window.__pwned === true};
}
"""
"""What is inside messages, and what else the page is made of."""

MESSAGE = ".block, .question-text, pre, .tool-gist, .lines li"
HARMLESS_TAGS = {
    "A", "BLOCKQUOTE", "BR", "CODE", "DIV", "EM", "H3", "H4", "H5", "H6", "HR", "LI", "OL", "P",
    "PRE", "S", "SPAN", "STRONG", "TABLE", "TBODY", "TD", "TH", "THEAD", "TR", "UL",
}  # fmt: skip
NOTE_TAGS = HARMLESS_TAGS | {"MARK", "SUP"}
"""Notes are written in Obsidian, which has ==highlights== and footnotes."""


def looked_at(
    tab: Tab, inside: str = MESSAGE, tags: Collection[str] = HARMLESS_TAGS
) -> dict[str, Any]:
    """The page's parts, after nothing in it was obeyed."""
    seen: dict[str, Any] = tab.page.evaluate(SHAPE, inside)
    assert seen["bad"] == []
    assert not seen["pwned"]
    assert {tag.upper() for tag in seen["tags"]} <= set(tags)
    return seen


def batches(payloads: Sequence[str], most: int, between: str) -> Iterator[str]:
    """Payloads joined, each batch up to so many characters."""
    batch: list[str] = []
    for payload in payloads:
        if batch and sum(map(len, batch)) + len(payload) + len(between) * len(batch) > most:
            yield between.join(batch)
            batch = []
        batch.append(payload[:most])
    if batch:
        yield between.join(batch)


@pytest.fixture(params=["ours", "collected"])
def payloads(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Our own, or all that others have collected."""
    if request.param == "ours":
        return COLLECTIONS["ours"]()
    others = [collection for name, collection in COLLECTIONS.items() if name != "ours"]
    return tuple(payload for collection in others for payload in collection())


def test_hostile_questions_are_shown_as_text(
    payloads: tuple[str, ...], visitor: Visitor, ada: Person
) -> None:
    ada.plays(then=say("Noted."))
    tab = visitor.enters(ada).ask("Harmless?").ended()
    for batch in batches(payloads, 12_000, "\n"):
        tab.ask(batch).ended()
        looked_at(tab)
    expect(tab.page.locator("#conversations .dot")).to_have_count(0)  # the list has looked again
    live = looked_at(tab)["shape"]
    one = tab.exchanges.first.evaluate("e => e.querySelectorAll('*').length")
    assert all(
        n == one for n in tab.page.evaluate(
            """() => [...document.querySelectorAll("#thread article.exchange")].map(
                 (e) => e.querySelectorAll("*").length)"""
        )
    )  # fmt: skip
    tab.reload()
    assert looked_at(tab)["shape"] == live


def show_all(tab: Tab) -> None:
    """Long answers are shown page by page after a reload: ask for the rest of each."""
    blocks = tab.page.locator("#thread .block")
    more = tab.page.get_by_role("link", name="Show more of this answer")
    while more.count():
        before = blocks.count()
        more.first.evaluate("e => e.click()")
        expect(blocks).not_to_have_count(before)


WAYS = {
    "paragraphs": ("", "\n\n"),
    "lines": ("", "\n"),
    "items": ("- ", "\n- "),
    "cells": ("| a |\n|---|\n| ", " |\n| "),
    "fences": ("```html\n", "\n```\n\n```html\n"),
}


def test_hostile_answers_and_thoughts_are_shown_as_text(
    payloads: tuple[str, ...], visitor: Visitor, ada: Person
) -> None:
    answers = [opening + between.join(payloads) for opening, between in WAYS.values()]
    slowly: dict[str, Any] = {"pieces": 100, "piece_delay": 0.005}
    ada.plays(
        Reply(thinking="\n\n".join(payloads), text="I had better not say it.", **slowly),
        *(say(text, **slowly) for text in answers),
    )
    tab = visitor.enters(ada)
    for number in range(len(answers) + 1):
        tab.ask(f"Say something nasty, {number}.")
        expect(tab.last.locator(".badge.completed")).to_be_visible(timeout=30_000)
        tab.ended()
        looked_at(tab)
    expect(tab.page.locator("#conversations .dot")).to_have_count(0)
    live = looked_at(tab)["shape"]
    tab.reload().connected()
    show_all(tab)
    assert looked_at(tab)["shape"] == live
    expect(tab.page.locator("#composer")).to_have_count(1)
    expect(tab.exchanges).to_have_count(len(answers) + 1)


def unfold(card: Locator) -> None:
    """Open a card without the mouse: nobody scrolls to a card and clicks on it at once, and while a
    page comes to rest such a click is lost."""
    card.evaluate("e => { e.open = true; }")
    expect(card.locator(".call")).to_have_count(1)


def test_hostile_tool_calls_and_results_are_shown_as_text(
    payloads: tuple[str, ...], visitor: Visitor, ada: Person
) -> None:
    """As arguments, as the result of a failed call, and as what a note holds."""
    notes = list(batches(payloads, 50_000, "\n\n"))
    for number, text in enumerate(notes):
        ada.note(f"nasty-{number}.md", f"# <img src=x onerror=alert({number})>\n\n{text}")
    reads = [f"nasty-{number}.md" for number in range(len(notes))]
    reads += batches(payloads, 8_000, " ")
    search = Call("vault_search", {"queries": ["<svg onload=alert(1)> alert script"]})
    ada.plays(
        calls(search, *(Call("vault_read", {"path": path}) for path in reads)),
        say("See [nasty-0.md:1] and [nasty-0.md:3]."),
    )
    ada.limits(max_tool_calls_per_turn=20, token_budget=200_000)
    tab = visitor.enters(ada).ask("Read the nasty note.").ended()
    for details in tab.page.locator("#thread details.tools").all():
        details.evaluate("e => { e.open = true; }")
    cards = tab.tools()
    for number in range(cards.count()):
        unfold(cards.nth(number))
        if (more := cards.nth(number).get_by_text(re.compile("^Show all"))).count():
            more.evaluate("e => e.click()")
            expect(cards.nth(number).get_by_text(re.compile("^Show all"))).to_have_count(0)
    tab.page.locator(".sources details").evaluate("e => { e.open = true; }")
    looked_at(tab)
    for number in range(len(notes)):
        tab.page.goto(f"{tab.address}/notes/{ada.project}/nasty-{number}.md")
        looked_at(tab, tags=NOTE_TAGS)
        expect(tab.page.locator("main")).to_have_count(1)


def as_path(payload: str) -> str:
    """The name of a note, as hostile as notes may be called; its slashes lead into folders."""
    plain = "".join(letter for letter in replace_unstorable(payload) if letter.isprintable())
    plain = plain.replace("\\", "").replace(":", "")
    parts = [part.encode()[:120].decode(errors="ignore").strip(" .") for part in plain.split("/")]
    return "/".join(filter(None, parts[:8])) + ".md"


def can_be_note(path: str) -> bool:
    """Whether a note may have this path: none that hides steps, or begins with a dot."""
    try:
        return bool(validate_note_path(path))
    except NoteRefused:
        return False


MOST_NAMES = 60
"""So many cards of hits can be opened in one go; all names are rendered in tests/chat."""


def test_hostile_names_of_notes_are_shown_as_text(
    payloads: tuple[str, ...], visitor: Visitor, ada: Person
) -> None:
    """As hits of searches, then as a page."""
    tried = dict.fromkeys(map(as_path, payloads))
    names = list({make_key(name): name for name in tried if can_be_note(name)}.values())
    assert len(names) >= 0.7 * len(tried)
    names = names[:: max(1, len(names) // MOST_NAMES)][:MOST_NAMES]
    for number, name in enumerate(names):
        ada.note(name, f"The harbour{number // 20}x is deep.")
    searches = [
        Call("vault_search", {"queries": [f"harbour{number}x"], "limit": 20})
        for number in range(-(-len(names) // 20))
    ]
    ada.limits(max_tool_calls_per_turn=20, token_budget=200_000)
    tab, shown = visitor.enters(ada), 0
    for at in range(0, len(searches), 15):
        ada.plays(calls(*searches[at : at + 15]), say("So many harbours."))
        tab.go().ask("Which harbours are there?").ended()
        for details in tab.page.locator("#thread details.tools").all():
            details.evaluate("e => { e.open = true; }")
        cards = tab.tools()
        for number in range(cards.count()):
            unfold(cards.nth(number))
        looked_at(tab)
        shown += tab.page.locator(".hits li").count()
    assert shown == len(names)
    address = tab.page.locator(".hits a").last.get_attribute("href")
    response = tab.page.goto(f"{tab.address}{address}")
    assert response
    assert response.status == 200
    expect(tab.page.locator("main.library")).to_have_count(1)
    looked_at(tab, f"{MESSAGE}, h1")


def test_hostile_titles_are_shown_as_text(
    payloads: tuple[str, ...], visitor: Visitor, ada: Person, site: Site
) -> None:
    """In the sidebar, in the page's head, title and menu, and in search."""
    tab = visitor.enters(ada)
    titles = [title for payload in payloads if (title := payload.replace("\0", "")[:200])]
    shapes = set()
    for start in range(0, len(titles), 50):
        some = titles[start : start + 50]
        made = site.ask("titles", name=ada.name, titles=some)["conversations"]
        tab.go("/new/")
        expect(tab.page.locator("#conversations li")).to_have_count(len(some))
        assert set(tab.page.locator("#conversations .clip").evaluate_all(
            "es => es.map(e => e.children.length)")) == {0}  # fmt: skip
        tab.go(f"/c/{made[0]}/")
        expect(tab.page.locator("#title")).to_have_count(1)
        shown = tab.page.locator("#title").evaluate("e => e.textContent")
        assert " ".join(shown.split()) == " ".join(some[0].split())
        seen = tab.page.evaluate(SHAPE, "#conversations ul")
        assert seen["pwned"] is False
        shapes.add(tuple(seen["shape"]))
    assert len(shapes) == 1


def test_hostile_user_names_are_shown_as_text(
    payloads: tuple[str, ...], visitor: Visitor, ada: Person, site: Site
) -> None:
    """Where many stand on one page: the log of who changed what."""
    kept = (replace_unstorable(payload).replace("\x00", "").strip()[:130] for payload in payloads)
    names = [f"{name} {ada.name[-12:]}{n}" for n, name in enumerate(kept)]
    site.ask("changers", name=ada.name, names=names)
    tab = visitor.enters(ada)
    seen: list[str] = []
    while len(seen) < len(names):
        tab.page.goto(f"{tab.address}/settings/changes/?page={len(seen) // 50 + 1}")
        looked_at(tab, "table.log td:not(.when)")
        found = tab.page.locator("table.log td:last-child").all_text_contents()
        assert found
        seen += found
    assert sorted(map(str.split, seen)) == sorted(map(str.split, names))


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", '"><svg/onload=alert(1)>'])
def test_a_hostile_user_name_is_shown_as_text(
    name: str, visitor: Visitor, ada: Person, site: Site
) -> None:
    tab = visitor.enters(ada)
    site.ask("change", name=ada.name, username=name + ada.name)
    for path in ("/new/", "/runs/", "/password/"):
        tab.page.goto(tab.address + path)
        assert (name + ada.name) in tab.page.content().replace("&lt;", "<").replace(
            "&gt;", ">"
        ).replace("&quot;", '"')
        assert tab.page.locator("img, svg[onload]").count() == 0


def test_a_renamed_conversation_shows_its_title_as_text_in_both_tabs(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(say("Hello."))
    one = visitor.enters(ada).ask("Hello?").ended().reload()
    two = visitor.tab().go(str(one.page.evaluate("location.pathname")))
    title = '</h1><i id="ack" data-message="x"></i><img src=x onerror=alert(1)>'
    one.page.locator('input[name="title"]').evaluate(
        "(e, title) => { e.value = title; e.form.requestSubmit(); }", title
    )
    for tab in (one, two):
        expect(tab.page.locator("#title")).to_have_text(title)
        expect(tab.page.locator("#ack")).to_have_count(1)


def test_the_watch_sees_a_script_that_runs(profile: Callable[..., Visitor], site: Site) -> None:
    """The harness itself: what these tests rely on is noticed."""
    visitor = profile(only_here=True)
    tab = visitor.tab()
    tab.page.goto(tab.address + "/sign-in/")
    tab.page.evaluate("alert(1)")
    tab.page.evaluate("document.body.innerHTML = '<img src=x onerror=alert(2)>'")
    tab.page.evaluate("fetch('https://elsewhere.example/').catch(() => 0)")
    tab.page.wait_for_function("() => window.__pwned")
    found = " ".join(visitor.watch.problems)
    for _ in range(50):
        found = " ".join(visitor.watch.problems)
        if "CSP" in found:
            break
        tab.page.evaluate("new Promise((done) => setTimeout(done, 20))")
    visitor.context.close()  # what is still on its way is heard before the list is emptied
    visitor.watch.problems.clear()
    assert "script ran: alert" in found
    assert "CSP script-src" in found
    assert "CSP connect-src" in found or "another site" in found
