"""`make screenshots`: the pictures of the README, taken from the real application.

A site of its own, the embedded model, the sample project: the same pictures on every machine, but
for fonts and the seconds that runs took.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.chromium import MISSING, SANDBOX, find_chromium
from tests.support.server import Server, free_port, manage, prepare, serving

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"
MAX_BYTES = 150_000
_DESKTOP = {"viewport": {"width": 1200, "height": 980}, "device_scale_factor": 0.9}
PICTURES: dict[str, dict[str, Any]] = {
    "chat": _DESKTOP,
    "chat-dark": {**_DESKTOP, "color_scheme": "dark"},
    "chat-phone": {
        "viewport": {"width": 390, "height": 780},
        "device_scale_factor": 1.5,
        "has_touch": True,
        "is_mobile": True,
    },
}
FIRST_QUESTION = "What is this project about, and who leads it?"
LAST_QUESTION = "Why was radar chosen?"
LIMIT_TO_THREE_TURNS = (
    "from agents.models import UserAgentConfig; UserAgentConfig.objects.update(max_iterations=3)"
)


def main() -> int:
    program = find_chromium()
    if program is None:
        print(f"screenshots: {MISSING}", file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="oracle-pictures-") as name,
        sync_playwright() as driver,
    ):
        site = Path(name)
        prepare(site)
        browser = driver.chromium.launch(executable_path=program, args=SANDBOX)
        with serving(site, port=free_port()) as server:
            take_pictures(browser, server, site)
        browser.close()
    return report()


def take_pictures(browser: Browser, server: Server, site: Path) -> None:
    """One conversation, whose second run ends at its limit, as three people see it."""
    first = browser.new_context()
    page = first.new_page()
    page.goto(server.link)
    page.get_by_role("button", name="Add the sample project").click()
    ask(page, FIRST_QUESTION, "completed")
    manage(site, "shell", "-c", LIMIT_TO_THREE_TURNS)
    ask(page, LAST_QUESTION, "limited")
    for name, options in PICTURES.items():
        context = browser.new_context(storage_state=first.storage_state(), **options)
        shown = context.new_page()
        shown.goto(page.url)
        shown.wait_for_selector("#connection[data-state=open]")
        shown.locator("article").last.evaluate("e => e.scrollIntoView()")  # from the question on
        shown.screenshot(path=FOLDER / f"{name}.png", animations="disabled")
    take_audit_picture(browser, page)
    take_library_picture(browser, page)


def take_library_picture(browser: Browser, page: Page) -> None:
    """A note of the sample project, with what links to it."""
    context = browser.new_context(
        storage_state=page.context.storage_state(), viewport={"width": 1200, "height": 800}
    )
    shown = context.new_page()
    shown.goto(f"{page.url.split('/c/')[0]}/library/")
    shown.get_by_role("link", name="hardware").click()
    shown.get_by_role("link", name="The gauge").click()
    shown.wait_for_selector("#backlinks")
    shown.screenshot(path=FOLDER / "library.png", animations="disabled")


def take_audit_picture(browser: Browser, page: Page) -> None:
    """The page of the last run, as the audit has it."""
    address = page.locator("#thread a.audit").last.get_attribute("href")
    context = browser.new_context(
        storage_state=page.context.storage_state(), viewport={"width": 1200, "height": 1000}
    )
    shown = context.new_page()
    shown.goto(f"{page.url.split('/c/')[0]}{address}")
    shown.wait_for_selector("svg")
    shown.screenshot(path=FOLDER / "run.png", animations="disabled")


def ask(page: Page, question: str, outcome: str) -> None:
    page.wait_for_selector("#connection[data-state=open]")
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector(f"#thread .badge.{outcome}")
    page.wait_for_selector("#controls[data-running=no]")


def report() -> int:
    sizes = {path.name: path.stat().st_size for path in sorted(FOLDER.glob("*.png"))}
    for name, size in sizes.items():
        print(f"{name:16} {size:7,} bytes")
    return int(any(size > MAX_BYTES for size in sizes.values()))


if __name__ == "__main__":
    sys.exit(main())
