"""axe-core on every page, light and dark, desktop and phone; Lighthouse on some, median of five.

    npm install axe-core lighthouse    # in any folder
    python -m bench.pages --modules FOLDER/node_modules

Not part of `make test`: both are packages of npm, and nothing else here needs it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, BrowserContext, Page, StorageState, sync_playwright

from bench.screenshots import FIRST_QUESTION, LAST_QUESTION, LIMIT_TO_THREE_TURNS, ask
from tests.support.chromium import SANDBOX, find_chromium
from tests.support.server import Server, free_port, manage, prepare, serving

PAGES = (
    "/new/", "/runs/", "/search/", "/search/?q=radar", "/password/", "/nothing-here/",
    "/library/tidewatch/", "/library/tidewatch/tags/", "/library/tidewatch/trash/",
    "/library/tidewatch/search/?q=radar", "/library/tidewatch/upload/", "/library/tidewatch/new/",
    "/library/tidewatch/notes/people.md", "/library/tidewatch/edit/people.md",
    "/library/tidewatch/history/people.md", "/library/tidewatch/versions/1/people.md",
    "/library/tidewatch/move/people.md", "/library/tidewatch/tags/?tag=field",
    "/library/tidewatch/notes/none.md", "/library/empty/", "/library/empty/trash/",
    "/library/past/", "/library/own/notes/Everything.md", "/library/own/versions/2/Small.md",
    "/library/empty/code/", "/library/own/code/", "/library/own/code/?folder=src",
    "/library/own/code/files/src/gauge.py", "/library/own/code/names/?name=Gauge.read",
    "/library/own/code/map/", "/library/own/code/upload/", "/library/own/code/checkouts/1/",
    "/library/own/search/?q=gauge&type=code",
    "/library/tidewatch/threads/", "/library/tidewatch/threads/?status=archived",
    "/library/tidewatch/threads/power%20supply/?entry=3#entry-3", "/library/tidewatch/new-thread/",
    "/library/own/threads/old/", "/library/own/threads/?status=archived", "/library/empty/threads/",
    "/library/own/threads/deep/", "/library/own/notes/Deep.md",
    "/projects/", "/projects/deleted/", "/p/tidewatch/settings/", "/p/past/settings/",
    "/p/none/settings/",
    "/settings/", "/settings/models/", "/settings/notifications/",
    "/settings/rules/", "/settings/rules/new/",
    "/settings/behaviours/", "/settings/behaviours/new/",
    "/settings/behaviours/shipped:deep-research/",
    "/settings/rules/shipped:slow-tool/", "/settings/appearance/", "/settings/data/",
    "/settings/tokens/", "/settings/changes/", "/usage/",
    "/admin/", "/admin/agents/agentrun/", "/admin/agents/auditentry/",
)  # fmt: skip
FOR_GUESTS = ("/sign-in/", "/invite/never-made/")
BUTTONS = {"/p/empty/settings/": "Create a link"}
"""What is pressed on a page before it is looked at."""
PROJECTS = "from bench.page_projects import create; print(create())"
WHAT_IF = "/admin/agents/agentrun/replay/?replay=1&max_iterations=2"
RULE = '[rule]\nid = "x"\ntrigger = "on_turn_end"\n[[action]]\ntype = "stop"\nmessage = "No more."'
WHAT_IF_RULE = f"/admin/agents/agentrun/replay/?replay=1&with_rule={quote(RULE)}"
LIGHTHOUSE_PAGES = ("/new/", "/settings/")
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
}
CATEGORIES = ("accessibility", "best-practices", "performance")
AXE_SCRIPT = """axe.run(document).then((r) => JSON.stringify(r.violations.map(
  (v) => `${v.id}: ${v.nodes[0].html.slice(0, 160)}`)))"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, required=True, help="a node_modules folder")
    parser.add_argument("--rounds", type=int, default=5, help="of Lighthouse; 0 leaves it out")
    options = parser.parse_args()
    with run_site() as (browser, server, state, talk, run, invitation):
        more = [talk, f"{talk}outline/", run, run.replace("change", "transcript")]
        own = run.replace("/admin/agents/agentrun/", "/runs/")
        more += [own.replace("change", part) for part in ("behaviour", "rules", "changes", "keep")]
        mine = [*PAGES, *BUTTONS, invitation, *more, WHAT_IF, WHAT_IF_RULE]
        guests = [*FOR_GUESTS, invitation]
        found = count_violations(browser, server, state, mine, guests, options.modules)
        judged = [*LIGHTHOUSE_PAGES, talk] if options.rounds else []
        low = count_low_scores(server, state, judged, options.modules, options.rounds)
    return int(found + low > 0)


@contextmanager
def run_site() -> Iterator[tuple[Browser, Server, StorageState, str, str, str]]:
    """A site with one conversation: an answer with tools and sources, and an amber notice. With
    the addresses of the conversation, of its last run in the audit, and of a project's link."""
    with (
        tempfile.TemporaryDirectory(prefix="oracle-pages-") as name,
        sync_playwright() as driver,
    ):
        prepare(Path(name))
        browser = driver.chromium.launch(executable_path=find_chromium(), args=SANDBOX)
        with serving(Path(name), port=free_port()) as server:
            context = browser.new_context()
            page = context.new_page()
            page.goto(server.link)
            token = manage(Path(name), "shell", "-c", PROJECTS).split()[-1]
            page.goto(f"{server.address}/p/tidewatch/")
            ask(page, FIRST_QUESTION, "completed")
            manage(Path(name), "shell", "-c", LIMIT_TO_THREE_TURNS)
            ask(page, LAST_QUESTION, "limited")
            run = page.locator("#thread a.audit").last.get_attribute("href") or ""
            talk = page.url.removeprefix(server.address)
            yield browser, server, context.storage_state(), talk, run, f"/invite/{token}/"
        browser.close()


# -- axe ------------------------------------------------------------------------------------------


def count_violations(
    browser: Browser,
    server: Server,
    state: StorageState,
    mine: Sequence[str],
    guests: Sequence[str],
    modules: Path,
) -> int:
    axe = (modules / "axe-core" / "axe.min.js").read_text()
    looked = found = 0
    for scheme in ("light", "dark"):
        for size, form in SIZES.items():
            known = browser.new_context(storage_state=state, color_scheme=scheme, **form)
            guest = browser.new_context(color_scheme=scheme, **form)
            pages = [*((path, known) for path in mine), *((path, guest) for path in guests)]
            for path, context in pages:
                problems = _find_violations(context, server.address + path, axe, BUTTONS.get(path))
                looked, found = looked + 1, found + len(problems)
                for problem in problems:
                    print(f"axe, {path}, {scheme}, {size}: {problem}")
    print(f"axe: {found} violations on {looked} pages")
    return found


def _find_violations(
    context: BrowserContext, address: str, axe: str, button: str | None
) -> list[str]:
    page = context.new_page()
    page.goto(address)
    if button:
        page.get_by_role("button", name=button).click()
    page.wait_for_load_state("networkidle")
    _open_all(page)
    tools = context.new_cdp_session(page)  # the page's own policy forbids other scripts
    tools.send("Runtime.evaluate", {"expression": axe})
    asked = {"expression": AXE_SCRIPT, "awaitPromise": True, "returnByValue": True}
    said = tools.send("Runtime.evaluate", asked)["result"]["value"]
    page.close()
    problems: list[str] = json.loads(said)
    return problems


def _open_all(page: Page) -> None:
    page.evaluate("() => { for (const e of document.querySelectorAll('details')) e.open = true; }")
    page.wait_for_load_state("networkidle")


# -- Lighthouse -----------------------------------------------------------------------------------


def count_low_scores(
    server: Server, state: StorageState, paths: Sequence[str], modules: Path, rounds: int
) -> int:
    """How many medians are below what they should be."""
    cookies = "; ".join(f"{c['name']}={c['value']}" for c in state["cookies"])
    wanted = {"accessibility": 100, "best-practices": 100, "performance": 95}
    low = 0
    for path in paths:
        for form, flags in {"desktop": ["--preset=desktop"], "slow phone": []}.items():
            runs = [
                _run_lighthouse(server.address + path, cookies, flags, modules)
                for _ in range(rounds)
            ]
            medians = {name: statistics.median(run[name] for run in runs) for name in CATEGORIES}
            low += sum(medians[name] < wanted[name] for name in CATEGORIES)
            print(f"Lighthouse, {path}, {form}: {medians}", flush=True)
    return low


def _run_lighthouse(
    address: str, cookies: str, flags: list[str], modules: Path
) -> dict[str, float]:
    command = [
        *("node", str(modules / "lighthouse" / "cli" / "index.js"), address, "--quiet"),
        *("--output=json", f"--only-categories={','.join(CATEGORIES)}", *flags),
        "--chrome-flags=--headless=new --no-sandbox",
        *("--extra-headers", json.dumps({"Cookie": cookies})),
    ]
    env = {**os.environ, "CHROME_PATH": find_chromium() or ""}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    judged = json.loads(done.stdout)["categories"]
    return {name: 100 * judged[name]["score"] for name in CATEGORIES}


if __name__ == "__main__":
    sys.exit(main())
