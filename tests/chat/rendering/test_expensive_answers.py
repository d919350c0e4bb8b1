"""Dear answers on the real server: ten tabs follow one, and others do not wait for it.

Beside each stands prose of the same size in the same process, at the same pace. The short
version is the first of the standing attack (`tests/attack`), which `make test-ci` plays.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.support.endpoint import ScriptedEndpoint
from tests.support.script import Body, Reply, Script, say
from tests.support.server import Server, free_port, manage, prepare, serving
from tests.support.shapes import SHAPES, prose

PEOPLE = """
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from agents.models import Membership, Project, UserAgentConfig
project = Project.objects.create(name="sea")
user = User.objects.create_user("ada")
Membership.objects.create(project=project, user=user)
UserAgentConfig.objects.update_or_create(user=user, defaults=dict(token_budget=200_000))
session = SessionStore()
session[SESSION_KEY] = str(user.pk)
session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.create()
print(project.pk, session.session_key)
"""
SIZE = 100_000
TABS = 10
ENDED = 'class="badge completed"'


class Site:
    def __init__(self, server: Server, project: str, session: str) -> None:
        self.server, self.project, self.session = server, project, session

    @asynccontextmanager
    async def tab(self, key: Any) -> AsyncIterator[Any]:
        address = self.server.address.replace("http", "ws", 1)
        async with connect(
            f"{address}/ws/{self.project}/{key}/",
            origin=self.server.address,  # type: ignore[arg-type]
            additional_headers={"Cookie": f"sessionid={self.session}"},
            max_size=None, max_queue=None, proxy=None, open_timeout=30, ping_interval=None,
        ) as socket:  # fmt: skip
            yield socket


async def follow(site: Site, key: Any, question: str, ready: asyncio.Barrier) -> int:
    """One tab, to the end of the answer; the characters it was sent. The first one asks."""
    sent = 0
    async with site.tab(key) as socket:
        await socket.send(json.dumps({"verb": "resume", "head": "", "live": []}))
        await ready.wait()
        if question:
            said = {"verb": "submit", "question": question, "client_message_id": str(uuid4())}
            await socket.send(json.dumps(said))
        async for frame in socket:
            sent += len(frame)
            if 'id="beat"' in frame:
                frames = int(frame.split('data-frames="')[1].split('"')[0])
                await socket.send(json.dumps({"verb": "ack", "frames": frames}))
            if ENDED in frame:
                return sent
    raise AssertionError("closed before the end")


async def looks(site: Site) -> list[float]:
    """How long `/healthz` takes, again and again."""
    found: list[float] = []
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        try:
            while True:
                began = time.perf_counter()
                assert (await client.get(f"{site.server.address}/healthz")).status_code == 200
                found.append(time.perf_counter() - began)
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            return found


async def played(site: Site, question: str) -> list[float]:
    """Ten tabs follow the answer to a question; the delays of somebody else meanwhile."""
    key, ready = uuid4(), asyncio.Barrier(TABS)
    looking = asyncio.create_task(looks(site))
    tabs = [follow(site, key, "" if number else question, ready) for number in range(TABS)]
    async with asyncio.timeout(120):
        sent = await asyncio.gather(*tabs)
    assert min(sent) > SIZE / 2
    looking.cancel()
    return await looking


def answer(body: Body) -> Reply:
    """The question names the shape."""
    name = str(body["messages"][-1]["content"])
    text = SHAPES[name](SIZE) if name in SHAPES else prose(SIZE)
    return say(text, pieces=50, piece_delay=0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.timed
async def test_ten_tabs_of_a_dear_answer_hold_up_nobody(folder: Path) -> None:
    async with ScriptedEndpoint(Script((), then=answer)) as endpoint:
        project, session = manage(folder, "shell", "-v", "0", "-c", PEOPLE).split()[-2:]
        model = {"ORACLE_LLM_BASE_URL": endpoint.base_url}
        with serving(folder, "--grace", "0", port=free_port(), sign_in=False, **model) as server:
            site = Site(server, project, session)
            await played(site, "prose")  # what is loaded once
            control = max(await played(site, "prose"))
            for name in ("open brackets", "headings", "citation openers"):
                worst = max(await played(site, name))
                assert worst < 3 * control + 0.5, (name, worst, control)
