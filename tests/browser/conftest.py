"""One server, one browser, one scripted model for all tests; a new person and context for each."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.profiles import Profiles, Watch
from tests.browser.site import Person, Site, open_site
from tests.browser.tabs import Visitor
from tests.support.chromium import MISSING, SANDBOX, find_chromium
from tests.support.processes import APART
from tests.support.proxy import Proxy
from tests.support.threaded_endpoint import Stage

TROUBLE = re.compile(r"Traceback|^(ERROR|CRITICAL)|was never (awaited|retrieved)", re.MULTILINE)
"""What a server's log must not hold."""

SPARING = ("--renderer-process-limit=1", "--disable-gpu")
"""A tab is cheaper to open in a process that is there already, and to draw without a GPU that
would be imitated."""

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Playwright keeps a loop running, which tests that bring their own do not survive."""
    mine = [item for item in items if item.path.is_relative_to(HERE)]
    for item in mine:
        item.add_marker(APART)
    if len(mine) < len(items) and config.option.processes < 2:
        alone = pytest.mark.skip(reason="browser tests need a process of their own: make test")
        for item in mine:
            item.add_marker(alone)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip(MISSING)
    arguments = [*SPARING, *SANDBOX]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.fixture(scope="session")
def running_site(
    browser: Browser, stage: Stage, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("site"), stage) as site:
        yield site


@pytest.fixture
def site(running_site: Site) -> Iterator[Site]:
    """The site; what it logs during a test has no traceback in it."""
    running_site.news()
    yield running_site
    assert not TROUBLE.search(news := running_site.news()), news


@pytest.fixture
def proxy(site: Site) -> Iterator[Proxy]:
    """A way to the site that can be cut, at `site.proxied`."""
    with Proxy(site.port, site.proxied) as proxy:
        yield proxy


@pytest.fixture
def somebody(site: Site) -> Iterator[Callable[..., Person]]:
    """Makes people. Their scripts must be played to the end."""
    made: list[Person] = []

    def make(**more: object) -> Person:
        made.append(site.person(**more))
        return made[-1]

    yield make
    assert [what for person in made for what in person.problems()] == []


@pytest.fixture
def ada(somebody: Callable[..., Person]) -> Person:
    return somebody()


@pytest.fixture(scope="session")
def profiles(browser: Browser) -> Profiles:
    return Profiles(browser)


@pytest.fixture
def profile(profiles: Profiles, site: Site) -> Iterator[Callable[..., Visitor]]:
    """Makes browser profiles. Whatever must not happen in one fails the test."""
    watch = Watch((site.address, f"http://127.0.0.1:{site.proxied}"))
    with ExitStack() as used:

        def make(only_here: bool = False) -> Visitor:
            """For a test that changes what cannot be put back, one that is `only_here`."""
            if only_here:
                made = profiles.open(watch)
                used.callback(made.context.close)
            else:
                made = profiles.take(watch)
                used.callback(profiles.give_back, made)
            return Visitor(made.context, site, watch)

        yield make
    assert watch.problems == []


@pytest.fixture
def visitor(profile: Callable[[], Visitor]) -> Visitor:
    return profile()
