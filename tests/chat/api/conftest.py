"""One server process for all tests of this folder that need a real one."""

from collections.abc import AsyncIterator, Iterator

import pytest

from agents.runtime import current as home_module
from chat.api import throttling
from tests.chat.api.api_client import Caller
from tests.chat.api.site import Program, Site
from tests.chat.page_client import Chat
from tests.support.script import say
from tests.support.threaded_endpoint import Stage


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Stage() as stage:
        made = Site(tmp_path_factory.mktemp("api"), stage)
        with made.open():
            yield made


@pytest.fixture
def program(site: Site) -> Iterator[Program]:
    """Somebody's program. What goes wrong in the server fails the test."""
    server, read = site.server, len(site.server.log.read_text())
    yield site.program()
    begin = read if site.server is server else 0  # the log of the next server is its own
    assert "Traceback" not in site.server.log.read_text()[begin:]


@pytest.fixture
async def ada(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> AsyncIterator[Caller]:
    """Ada's program, with all scopes, in this process; her model says "It is so."."""
    throttling.reset()
    async with Chat(then=say("It is so.")) as chat:
        monkeypatch.setattr(home_module, "_runtimes", [chat.runtime])
        async with Caller.of(chat, chat.user) as caller:
            yield caller
