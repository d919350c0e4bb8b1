"""Sockets of the real server: who is let in, who is shown out, and what no frame can do to it.

For what a test client cannot show: frames, sizes, close codes, a process that goes on.
"""

import asyncio
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.hostile import json_suite
from tests.support.server import Server, free_port, manage, prepare, serving
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.ci

PASSWORD = "correct horse battery"
PEOPLE = """
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from agents.models import Membership, Project
from agents.vault.sample import add_sample_notes
project = Project.objects.create(name="sea")
add_sample_notes(project)
word = make_password("correct horse battery")
for name in ("ada", "bob", "cy", "dee", "eve", "fay"):
    user = User.objects.create(username=name, password=word)
    Membership.objects.create(project=project, user=user)
print(project.pk)
"""
LONG_FRAME = 70_000
MESSAGE_BURST, BYTE_BURST, MAX_IGNORED = 200, 1024 * 1024, 2_000
"""As in oracle_site/server/server.py, which brings a reactor of its own."""


class Site:
    """A server that runs, and its database."""

    def __init__(self, server: Server, folder: Path, project: str) -> None:
        self.server, self.project = server, project
        self.database = folder / "oracle.sqlite3"
        self.logged = 0
        """How much of the log is of earlier tests."""
        self._browsers: dict[str, httpx.Client] = {}

    def close(self) -> None:
        for browser in self._browsers.values():
            browser.close()

    def sign_in(self, name: str) -> httpx.Client:
        """Once: a name has one browser."""
        if name not in self._browsers:
            self._browsers[name] = self._signed_in(name)
        return self._browsers[name]

    def _signed_in(self, name: str) -> httpx.Client:
        browser = httpx.Client(base_url=self.server.address, trust_env=False, timeout=30)
        browser.get("/sign-in/")
        token = browser.cookies["csrftoken"]
        given = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token}
        assert browser.post("/sign-in/", data=given).status_code == 302
        return browser

    def change(self, statement: str, *values: Any) -> list[Any]:
        """In its database, as an administrator or another process would."""
        with closing(sqlite3.connect(self.database, timeout=20)) as rows, rows:
            return rows.execute(statement, values).fetchall()

    def connect(self, browser: httpx.Client | None, key: Any = None, **more: Any) -> connect:
        cookie = f"sessionid={browser.cookies['sessionid']}" if browser is not None else ""
        address = self.server.address.replace("http", "ws", 1)
        usual: dict[str, Any] = {
            "origin": self.server.address,
            "additional_headers": {"Cookie": cookie} if cookie else {},
            "proxy": None,
            "max_queue": None,
            "open_timeout": 20,
        }
        return connect(f"{address}/ws/{self.project}/{key or uuid4()}/", **{**usual, **more})

    def assert_healthy(self) -> None:
        assert httpx.get(f"{self.server.address}/healthz", trust_env=False).status_code == 200
        log = self.server.log.read_bytes()[self.logged :].decode(errors="replace")
        assert "Traceback" not in log, log[-4_000:]
        assert "ERROR" not in log, log[-4_000:]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    prepare(folder)
    settings = {"DJANGO_SETTINGS_MODULE": "tests.support.quick_passwords"}
    project = manage(folder, "shell", "-v", "0", "-c", PEOPLE, **settings).split()[-1]
    with serving(folder, port=free_port(), sign_in=False, **settings) as server:
        made = Site(server, folder, project)
        yield made
        made.close()


@pytest.fixture(autouse=True)
def _own_log(site: Site) -> None:
    site.logged = site.server.log.stat().st_size


async def how_closed(socket: ClientConnection) -> tuple[int | None, str]:
    """How a socket is closed, and all that was said before."""
    said = ""
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                said += str(await socket.recv())
    except ConnectionClosed:
        return socket.close_code, said


async def test_a_socket_that_talks_without_end_is_cut_off(site: Site) -> None:
    browser = site.sign_in("fay")
    async with site.connect(browser) as socket:
        with suppress(ConnectionClosed):
            for _ in range(MAX_IGNORED + 2 * MESSAGE_BURST):
                await socket.send('{"verb": "ack", "frames": 1}')
        assert (await how_closed(socket))[0] in {1006, 4429}
    site.assert_healthy()


async def test_a_socket_that_says_too_much_at_once_is_cut_off(site: Site) -> None:
    browser = site.sign_in("fay")
    large = json.dumps({"verb": "rename", "title": "x" * 60_000})
    async with site.connect(browser) as socket:
        with suppress(ConnectionClosed):
            for _ in range(2 * BYTE_BURST // len(large)):
                await socket.send(large)
        assert (await how_closed(socket))[0] in {1006, 4429}
    site.assert_healthy()


async def says(socket: ClientConnection, verb: str, **fields: Any) -> None:
    await socket.send(json.dumps({"verb": verb, **fields}))


async def until(socket: ClientConnection, *texts: str) -> str:
    """The first frame that has one of these."""
    async with asyncio.timeout(PATIENCE):
        while True:
            frame = str(await socket.recv())
            if any(text in frame for text in texts):
                return frame


# -- who is let in --------------------------------------------------------------------------------


async def test_whoever_is_not_signed_in_gets_a_notice_and_4401(site: Site) -> None:
    async with site.connect(None) as socket:
        code, said = await how_closed(socket)
    assert code == 4401
    assert "signed out" in said


async def test_a_conversation_of_somebody_else_is_closed_with_4403(site: Site) -> None:
    key = uuid4()
    async with site.connect(site.sign_in("ada"), key) as socket:
        await says(socket, "submit", question="When did it begin?", client_message_id="a1")
        await until(socket, "a1")
        async with site.connect(site.sign_in("eve"), key) as other:
            code, said = await how_closed(other)
    assert code == 4403
    assert "no such conversation" in said


@pytest.mark.parametrize("which", ["port", "scheme", "host", "none", "null"])
async def test_another_origin_is_refused(site: Site, which: str) -> None:
    own = site.server.address
    origins = {
        "port": "http://127.0.0.1:1", "scheme": own.replace("http", "https"),
        "host": "http://evil.example", "none": None, "null": "null",
    }  # fmt: skip
    with pytest.raises(InvalidStatus) as refused:
        async with site.connect(None, origin=origins[which]):
            pass
    assert refused.value.response.status_code == 403


# -- who is shown out -----------------------------------------------------------------------------


def sign_out(site: Site, browser: httpx.Client) -> None:
    page = browser.get("/new/").text
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    assert browser.post("/sign-out/", data={"csrfmiddlewaretoken": token}).status_code == 302


def expire(site: Site, browser: httpx.Client) -> None:
    key = browser.cookies["sessionid"]
    site.change("UPDATE django_session SET expire_date = '2020-01-01' WHERE session_key = ?", key)


def deactivate(site: Site, browser: httpx.Client) -> None:
    site.change("UPDATE auth_user SET is_active = 0 WHERE username = 'dee'")


def new_password(site: Site, browser: httpx.Client) -> None:
    page = browser.get("/password/").text
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    new = {"new_password1": "another horse", "new_password2": "another horse"}
    given = {"old_password": PASSWORD, "csrfmiddlewaretoken": token, **new}
    assert browser.post("/password/", data=given).status_code == 302


async def test_whoever_may_not_stay_is_told_so_and_closed_with_4401(site: Site) -> None:
    """All four at once: the server looks every few seconds."""
    ways: dict[str, Callable[[Site, httpx.Client], None]] = {
        "bob": sign_out, "cy": expire, "dee": deactivate, "fay": new_password,
    }  # fmt: skip
    browsers = {name: site.sign_in(name) for name in ways}
    sockets = {name: await site.connect(browsers[name]) for name in ways}
    stays = await site.connect(site.sign_in("ada"))
    for name, socket in sockets.items():
        await says(socket, "resume")
        ways[name](site, browsers[name])
    for name, socket in sockets.items():
        code, said = await how_closed(socket)
        assert code == 4401, name
        assert "signed out" in said, name
    await says(stays, "nonsense")
    await until(stays, "flash")
    await stays.close()
    site.assert_healthy()


async def test_whoever_is_removed_by_another_process_is_shown_out_and_others_are_not(
    site: Site,
) -> None:
    key = uuid4()
    async with (
        site.connect(site.sign_in("eve"), key) as leaving,
        site.connect(site.sign_in("ada")) as stays,
    ):
        await says(leaving, "resume")
        await says(leaving, "submit", question="Who leads it?", client_message_id="last")
        await until(leaving, "Completed")
        (slug,) = site.change("SELECT slug FROM agents_project")[0]
        folder = site.database.parent
        await asyncio.to_thread(manage, folder, "projects", "remove-member", slug, "eve")
        code, said = await how_closed(leaving)
        assert (code, "no longer in this project" in said) == (4403, True)
        await says(stays, "nonsense")
        await until(stays, "flash")
    assert site.sign_in("eve").get(f"/c/{key}/").status_code == 404
    await asyncio.to_thread(manage, folder, "projects", "add-member", slug, "eve")
    assert site.sign_in("eve").get(f"/c/{key}/").status_code == 200
    site.assert_healthy()


# -- runs -----------------------------------------------------------------------------------------


async def test_closing_the_socket_does_not_end_the_run(site: Site) -> None:
    browser, key = site.sign_in("ada"), uuid4()
    async with site.connect(browser, key) as socket:
        await says(socket, "submit", question="Who leads it?", client_message_id="close")
        await until(socket, 'data-message="close"')
    async with site.connect(browser, key) as socket:
        await says(socket, "resume")
        await until(socket, "Completed")
    rows = site.change("SELECT outcome FROM agents_agentrun WHERE client_message_id = 'close'")
    assert rows == [("completed",)]


async def test_an_answer_is_followed_live(site: Site) -> None:
    async with site.connect(site.sign_in("ada")) as socket:
        await says(socket, "resume")
        await says(socket, "submit", question="When did it begin?", client_message_id="live")
        await until(socket, 'data-message="live"')
        await until(socket, "Completed")
        await until(socket, 'data-running="no"')


# -- bad frames -----------------------------------------------------------------------------------


async def test_a_frame_that_is_too_long_closes_its_own_socket_only(site: Site) -> None:
    browser = site.sign_in("ada")
    async with site.connect(browser) as other, site.connect(browser) as socket:
        await socket.send("x" * LONG_FRAME)
        code, _ = await how_closed(socket)
        assert code in (1009, 1006)
        await says(other, "nonsense")
        await until(other, "flash")
    site.assert_healthy()


async def test_two_thousand_bad_frames_do_no_harm(site: Site) -> None:
    await storm(site, 2_000)


@pytest.mark.long
async def test_ten_thousand_bad_frames_do_no_harm(site: Site) -> None:
    await storm(site, 10_000)


async def storm(site: Site, frames: int) -> None:
    browser = site.sign_in("ada")
    answered = await asyncio.gather(
        *(_storm(site, browser, frames // 4, random.Random(seed)) for seed in range(4))
    )
    assert sum(answered) > 0
    site.assert_healthy()


async def _storm(site: Site, browser: httpx.Client, frames: int, chance: random.Random) -> int:
    """Send frames over sockets that are opened again when policy closes them; count answers."""
    answers = 0
    while frames > 0:
        sent = 0
        async with site.connect(browser) as socket:
            try:
                while frames > 0:
                    for _ in range(50):
                        frame = bad_frame(chance)
                        await socket.send(frame)
                        sent += len(frame if isinstance(frame, bytes) else frame.encode())
                        frames -= 1
                    await says(socket, "stop", **{f"mark{frames}": 1})  # named in the answer
                    await until(socket, f"mark{frames}", "Too many messages")
                    answers += 1
            except ConnectionClosed:
                # Whoever sends too many bytes is cut off without a word, and so without a code.
                expected = {4429, 1006} if sent > BYTE_BURST else {4429}
                assert socket.close_code in expected, socket.close_reason
    return answers


def bad_frame(chance: random.Random) -> str | bytes:
    """Nothing that a page would send."""
    match chance.randrange(5):
        case 0:
            return chance.choice(json_suite())[:60_000].decode("utf-8", "replace")
        case 1:
            return chance.randbytes(chance.randrange(200))
        case 2:
            return "".join(chance.choices('{}[]":,\\ud80verb stop\x00\u202e', k=60))
        case 3:
            verb = chance.choice(["submit", "resume", "switch", "continue", "ack", "rename"])
            value: Any = chance.choice([None, -1, 1e300, [], {}, "\ud800", "x" * 500, True])
            name = chance.choice(["question", "live", "exchange", "run", "frames", "title"])
            return json.dumps({"verb": verb, name: value})
        case _:
            return "[" * chance.randrange(1, 5_000)
