"""A tab of the browser, as somebody who chats uses it, and what must never happen in one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Error,
    Locator,
    Page,
    Request,
    WebSocket,
    expect,
)

from tests.browser.site import Person, Site

WATCH = """
(() => {
  const tell = (what) => window.tellTheTest(what);
  for (const name of ["alert", "confirm", "prompt", "print"]) {
    window[name] = () => { window.__pwned = true; tell("script ran: " + name); };
  }
  document.addEventListener("securitypolicyviolation", (event) =>
    tell(`CSP ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
  for (const name of ["htmx:oobErrorNoTarget", "htmx:swapError", "htmx:responseError",
                      "htmx:targetError", "htmx:evalDisallowedError", "htmx:onLoadError"]) {
    document.addEventListener(name, (event) => {
      const detail = event.detail || {};
      const content = detail.content && detail.content.outerHTML || detail.xhr
        && detail.xhr.responseURL || "";
      tell(name + " " + String(content).slice(0, 200));
    });
  }
})();
"""
"""Runs before any script of a page."""

CUT_OFF = re.compile(
    r"WebSocket connection to .* failed|net::ERR_|Failed to load resource"
    r"|htmx:(sendError|afterRequest)|\[object Event\]"
)
"""What Chromium itself writes when a network is cut; not a fault of the page."""


@dataclass
class Watch:
    """Collects what must not happen: errors, scripts that run, requests to other sites."""

    origins: tuple[str, ...]
    problems: list[str] = field(default_factory=list)
    allowed: list[re.Pattern[str]] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.expose_binding("tellTheTest", lambda _, what: self._note(what))
        context.add_init_script(WATCH)
        context.on("console", self._console)
        context.on("weberror", lambda error: self._note(f"error in the page: {error.error}"))
        context.on("request", self._request)
        context.on("dialog", self._dialog)

    def _note(self, what: str) -> None:
        if not any(pattern.search(what) for pattern in self.allowed):
            self.problems.append(what)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        local = (*(f"{origin}/" for origin in self.origins), "data:", "blob:", "about:")
        if not request.url.startswith(local):
            self._note(f"request to another site: {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.type} {dialog.message}")
        dialog.dismiss()


@dataclass
class Frames:
    """What came and went over the sockets of a page."""

    received: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    opened: int = 0

    def over(self, page: Page) -> None:
        page.on("websocket", self._opened)

    def _opened(self, socket: WebSocket) -> None:
        self.opened += 1
        socket.on("framereceived", lambda data: self.received.append(_text(data)))
        socket.on("framesent", lambda data: self.sent.append(_text(data)))


def _text(data: str | bytes) -> str:
    return data if isinstance(data, str) else data.decode()


class Tab:
    """One tab of somebody who is signed in."""

    def __init__(self, page: Page, address: str, watch: Watch) -> None:
        self.page = page
        self.address = address
        self.watch = watch
        self.frames = Frames()
        self.frames.over(page)

    # -- going places -----------------------------------------------------------------------------

    def go(self, path: str = "/new/") -> "Tab":
        self.page.goto(self.address + path)
        return self.connected()

    def reload(self) -> "Tab":
        self.page.reload()
        return self.connected()

    def connected(self) -> "Tab":
        expect(self.connection).to_have_attribute("data-state", "open")
        return self

    @property
    def connection(self) -> Locator:
        return self.page.locator("#connection")

    # -- asking -----------------------------------------------------------------------------------

    @property
    def question(self) -> Locator:
        return self.page.locator("#question")

    def ask(self, text: str) -> "Tab":
        """Type, press Enter, and see it taken."""
        before = self.exchanges.count()
        self.send(text)
        expect(self.exchanges).to_have_count(before + 1)
        return self

    def send(self, text: str) -> None:
        self.question.fill(text)
        self.question.press("Enter")

    def press_stop(self) -> None:
        self.page.locator("#controls button").click()

    # -- looking ----------------------------------------------------------------------------------

    @property
    def exchanges(self) -> Locator:
        return self.page.locator("#thread article.exchange")

    @property
    def last(self) -> Locator:
        return self.exchanges.last

    def notices(self, kind: str = "") -> Locator:
        return self.page.locator(f'.notice[data-type="{kind}"]' if kind else ".notice[data-type]")

    def tools(self, status: str = "") -> Locator:
        return self.page.locator(f"details.tool.{status}" if status else "details.tool")

    def is_version(self, number: int, total: int) -> "Tab":
        """Of the last exchange: `2/2`, with words for those who listen."""
        words = re.compile(rf"^\s*(Version )?{number}\s*/\s*(of )?\s*{total}\s*$")
        expect(self.last.locator(".versions > span")).to_have_text(words)
        return self

    def shows(self, text: str | re.Pattern[str]) -> "Tab":
        """In the last exchange."""
        expect(self.last).to_contain_text(text)
        return self

    def is_running(self, running: bool = True) -> "Tab":
        expect(self.page.locator("#controls")).to_have_attribute(
            "data-running", "yes" if running else "no"
        )
        return self

    def ended(self, outcome: str = "completed") -> "Tab":
        """The last answer has ended, and the composer is free again."""
        expect(self.last.locator(f".answer-end .badge.{outcome}")).to_be_visible()
        return self.is_running(False)

    def thread_html(self) -> str:
        """The thread as it is shown, without what may differ: whether a reader has opened it."""
        return str(
            self.page.evaluate(
                """() => {
                  const copy = document.querySelector("#thread").cloneNode(true);
                  copy.removeAttribute("aria-busy");
                  for (const e of copy.querySelectorAll("[data-since]")) e.textContent = "";
                  for (const e of copy.querySelectorAll("[class^=htmx-], [class*=' htmx-']"))
                    e.classList.remove("htmx-settling", "htmx-added", "htmx-swapping");
                  for (const e of copy.querySelectorAll('[class=""]')) e.removeAttribute("class");
                  return copy.innerHTML;
                }"""
            )
        )

    def text_of(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    @contextmanager
    def offline(self) -> Iterator[None]:
        """Without a network, and with what Chromium says about that."""
        self.watch.allowed.append(CUT_OFF)
        self.page.context.set_offline(True)
        try:
            yield
        finally:
            self.page.context.set_offline(False)


class Visitor:
    """Opens tabs: one context for each person, as one browser profile has one session."""

    def __init__(self, context: BrowserContext, site: Site, watch: Watch) -> None:
        self.context = context
        self.site = site
        self.watch = watch

    def enters(self, person: Person, path: str = "/new/", address: str = "") -> Tab:
        """A tab of somebody who signs in, on a page with a live connection."""
        tab = self.tab(address)
        tab.page.goto(f"{tab.address}/door/enter?name={person.name}&next={path}")
        return tab.connected()

    def tab(self, address: str = "") -> Tab:
        return Tab(self.context.new_page(), address or self.site.address, self.watch)


__all__ = ["CUT_OFF", "Error", "Frames", "Tab", "Visitor", "Watch"]
