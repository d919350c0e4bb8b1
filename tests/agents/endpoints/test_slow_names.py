"""Runs whose people entered host names that take long to resolve, beside runs of other people."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.core.chunks import Content
from agents.core.clock import LoopClock
from agents.endpoints import probe
from agents.endpoints.model_settings import LOOKUPS_BUSY, UnusableConfigError, check_base_url
from agents.endpoints.selection import get_policy
from agents.llm import EndpointError, Resolve, build_http_client, list_models
from agents.llm.transport.lookups import (
    THREADS_PER_PERSON,
    LookupTimedOut,
    PersonalLookups,
    asking_person,
)
from agents.models import ModelSettings
from agents.runtime import RunRequest, Runtime, SiteRunFactory
from agents.settings_service import update_settings
from agents.tools.definition import ToolFailed
from agents.tools.web_hosts import WebHosts
from agents.tools.web_pages import WebPages
from tests.agents.models.factories import engine
from tests.agents.runtime.fake_factory import asked, followed
from tests.support.endpoint import ScriptedEndpoint
from tests.support.script import say
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

LIBUV_THREADS = 4
"""Threads of the server's event loop for lookups."""
SLOW_NAMES = 5


class SlowNames:
    """The resolver of the machine, in which names of `.example` hang until they are freed."""

    def __init__(self, resolve: Any) -> None:
        self._resolve = resolve
        self._free = threading.Event()
        self._lock = threading.Lock()
        self.asked: list[str] = []

    def getaddrinfo(self, host: Any, *rest: Any, **more: Any) -> Any:
        if not str(host).endswith(".example"):
            return self._resolve(host, *rest, **more)
        with self._lock:
            self.asked.append(str(host))
        self._free.wait(60)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    def free(self) -> None:
        self._free.set()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowNames]:
    names = SlowNames(socket.getaddrinfo)
    monkeypatch.setattr(socket, "getaddrinfo", names.getaddrinfo)
    yield names
    names.free()


@pytest.fixture(autouse=True)
def site(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.ORACLE_LLM_MODEL, settings.ORACLE_LLM_MODELS = "the-site-s", ()
    settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = "yes", ("*",)


async def until_asked(names: SlowNames, count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(names.asked) < count:  # noqa: ASYNC110  # set in threads
            await asyncio.sleep(0.01)


@sync_to_async
def requests_of(name: str, count: int, request: RunRequest) -> list[RunRequest]:
    """Requests of another person, whose endpoint has a slow name."""
    person = User.objects.create_user(name)
    values = {
        "provider": "own",
        "base_url": f"http://{name}.example/v1",
        "oracle_model": "m",
    }
    update_settings(ModelSettings, person, values)
    project = engine(person)
    asks = RunRequest(user=person, project=project, question="So?", config=request.config)
    return [replace(asks, client_message_id=str(uuid4())) for _ in range(count)]


@asynccontextmanager
async def site_run(
    settings: Settings, names: SlowNames
) -> AsyncIterator[tuple[Runtime, RunRequest]]:
    """A runtime whose site's endpoint has a name to look up, and a request to it."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(LIBUV_THREADS))
    async with ScriptedEndpoint([say("Here.")]) as site:
        settings.ORACLE_LLM_BASE_URL = site.base_url.replace("127.0.0.1", "localhost")
        request = await asked()
        async with (
            build_http_client() as http,
            build_http_client(permits=get_policy().permits) as own,
            Runtime(SiteRunFactory(http, own)) as home,
        ):
            yield home, request
            names.free()


async def answer(home: Runtime, request: RunRequest) -> str:
    row = await home.start(request)
    async with asyncio.timeout(PATIENCE):
        chunks = await followed(home, row.pk)
    return "".join(chunk.content for chunk in chunks if isinstance(chunk, Content))


async def test_the_site_s_endpoint_does_not_wait_behind_people_s_names(
    settings: Settings, names: SlowNames
) -> None:
    async with site_run(settings, names) as (home, request):
        for number in range(SLOW_NAMES):
            for asks in await requests_of(f"mallory-{number}", 1, request):
                await home.start(asks)
        await until_asked(names, LIBUV_THREADS)
        assert await answer(home, request) == "Here."


async def test_all_runs_of_a_person_share_that_person_s_threads(
    settings: Settings, names: SlowNames
) -> None:
    async with site_run(settings, names) as (home, request):
        for asks in await requests_of("mallory", THREADS_PER_PERSON + 1, request):
            await home.start(asks)
        await until_asked(names, THREADS_PER_PERSON)
        assert await answer(home, request) == "Here."
        assert names.asked == ["mallory.example"] * THREADS_PER_PERSON


# -- what is said of it ---------------------------------------------------------------------------


async def list_two(resolve: Resolve) -> list[str]:
    """What is said of two endpoints, asked at the same time."""
    async with build_http_client(permits=get_policy().permits, resolve=resolve) as client:
        results = await asyncio.gather(
            *(
                list_models(client, f"http://{host}.example/v1", "", LoopClock())
                for host in ("first", "second")
            ),
            return_exceptions=True,
        )
    return list(map(str, results))


async def test_a_slow_name_is_told_apart_from_one_that_was_not_looked_up(names: SlowNames) -> None:
    lookups = PersonalLookups(per_person=1, seconds=0.2)
    slow, waiting = await list_two(lookups.resolve)
    assert slow.startswith("The name of first.example was not resolved in time.")
    assert waiting.startswith("Cannot look up second.example: your earlier lookups")


async def test_a_page_of_the_web_says_so_too(names: SlowNames) -> None:
    lookups = PersonalLookups(per_person=1, seconds=0.2)
    pages = WebPages(WebHosts.parse("docs.example"), resolve=lookups.resolve)
    slow, waiting = await asyncio.gather(
        *(pages.fetch("https://docs.example/") for _ in range(2)), return_exceptions=True
    )
    assert "was not resolved in time" in str(slow)
    assert "earlier lookups of names have not finished" in str(waiting)


async def test_who_waits_for_other_people_is_not_told_of_lookups_of_their_own(
    names: SlowNames,
) -> None:
    lookups = PersonalLookups(threads=1, seconds=0.2)
    pages = WebPages(WebHosts.parse("docs.example"), resolve=lookups.resolve)
    async with asyncio.TaskGroup() as group:
        group.create_task(hold(lookups))
        await until_asked(names, 1)
        async with build_http_client(permits=get_policy().permits, resolve=lookups.resolve) as http:
            with pytest.raises(EndpointError) as model:
                await list_models(http, "http://second.example/v1", "", LoopClock())
        with pytest.raises(ToolFailed) as page:
            await pages.fetch("https://docs.example/")
    busy = "all lookups of host names are busy. Try again in a minute."
    assert str(model.value) == f"Cannot look up second.example: {busy}"
    assert "all lookups of names are busy" in str(page.value)


async def hold(lookups: PersonalLookups) -> None:
    """Hold a thread on behalf of somebody else."""
    asking_person.set("mallory")
    with suppress(LookupTimedOut):
        await lookups.resolve("first.example", 443)


async def test_an_address_is_not_saved_while_others_hold_all_threads(
    names: SlowNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "resolve", PersonalLookups(threads=0, seconds=0.2).resolve)
    person = await sync_to_async(User.objects.create_user)("ada")
    with pytest.raises(UnusableConfigError) as refused:
        await check_base_url(person, "http://models.example/v1")
    assert refused.value.problems["base_url"] == LOOKUPS_BUSY


async def test_an_address_is_not_saved_while_too_many_names_wait(
    names: SlowNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "resolve", PersonalLookups(waiting_per_person=0).resolve)
    person = await sync_to_async(User.objects.create_user)("mallory")
    with pytest.raises(UnusableConfigError) as refused:
        await check_base_url(person, "http://models.example/v1")
    assert "Try again in a minute" in refused.value.problems["base_url"]
    assert names.asked == []
