"""A tab of the browser, as somebody who chats uses it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, Locator, Page, WebSocket

from tests.browser.expectations import expect
from tests.browser.profiles import Watch
from tests.browser.site import Person, Site

CUT_OFF = re.compile(
    r"WebSocket connection to .* failed|net::ERR_|Failed to load resource"
    r"|htmx:(sendError|afterRequest)|\[object Event\]"
)
"""What Chromium itself writes when a network is cut; not a fault of the page."""


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


FITS = """
([width, height]) => {
  const probe = document.createElement("div");
  Object.assign(probe.style, {position: "fixed", width: "100vw", height: "100dvh"});
  document.body.append(probe);
  const fits = probe.offsetWidth === width && probe.offsetHeight === height;
  probe.remove();
  window.fitting = fits ? (window.fitting || 0) + 1 : 0;
  return window.fitting > 5;
}
"""


def resize(page: Page, width: int, height: int) -> None:
    """Wait out the frames that Chromium still lays out by the old size, wholly or in part."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("window.fitting = 0")
    page.wait_for_function(FITS, arg=[width, height])


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
                    for (const name of ["settling", "added", "swapping", "request"])
                      e.classList.remove(`htmx-${name}`);
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
