"""Browser profiles, used again by one test after the other, and what must never happen in one."""

import re
from dataclasses import dataclass, field

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Request,
    ViewportSize,
)

PATIENCE_MS = 60_000
"""How long a page may take to show something. Nothing waits so long unless it fails."""
SIZE: ViewportSize = {"width": 1200, "height": 800}

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


@dataclass
class Watch:
    """Collects what must not happen: errors, scripts that run, requests to other sites."""

    origins: tuple[str, ...]
    problems: list[str] = field(default_factory=list)
    allowed: list[re.Pattern[str]] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        """Watch a context for as long as it is open."""
        Profile(context, self)

    def note(self, what: str) -> None:
        if not any(pattern.search(what) for pattern in self.allowed):
            self.problems.append(what)

    def console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.note(f"console {message.type}: {message.text}")

    def request(self, request: Request) -> None:
        local = (*(f"{origin}/" for origin in self.origins), "data:", "blob:", "about:")
        if not request.url.startswith(local):
            self.note(f"request to another site: {request.url}")

    def dialog(self, dialog: Dialog) -> None:
        self.note(f"dialog: {dialog.type} {dialog.message}")
        dialog.dismiss()


class Profile:
    """A browser context, and who watches it at the moment."""

    def __init__(self, context: BrowserContext, watch: Watch) -> None:
        self.context = context
        self.watch = watch
        context.expose_binding("tellTheTest", lambda _, what: self.watch.note(what))
        context.add_init_script(WATCH)
        context.on("console", lambda message: self.watch.console(message))
        context.on("weberror", lambda error: self.watch.note(f"error in the page: {error.error}"))
        context.on("request", lambda request: self.watch.request(request))
        context.on("dialog", lambda dialog: self.watch.dialog(dialog))


class Profiles:
    """Contexts that serve one test after the other: a new one is a new window, which is dear."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Profile] = []

    def open(self, watch: Watch) -> Profile:
        """A context that nobody has used."""
        context = self._browser.new_context(viewport=SIZE, reduced_motion="reduce")
        context.set_default_timeout(PATIENCE_MS)
        return Profile(context, watch)

    def take(self, watch: Watch) -> Profile:
        """A context as empty as a new one, but for what the browser has cached."""
        if not self._free:
            made = self.open(watch)
            made.context.new_page()  # its window closes with its last page
            return made
        taken = self._free.pop()
        taken.watch = watch
        return taken

    def give_back(self, profile: Profile) -> None:
        """Close its pages, which lets their last words be heard, and empty it."""
        kept, *used = profile.context.pages
        for page in used:
            page.close()
        profile.context.set_offline(False)
        profile.context.clear_cookies()
        session = profile.context.new_cdp_session(kept)
        for origin in profile.watch.origins:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()
        self._free.append(profile)
