"""Memberships that end, on a real server process: what the person has open there ends at once."""

import asyncio
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from chat.close_codes import NOT_ALLOWED
from tests.chat.api.site import Site, events, text_of
from tests.chat.api.test_server import rest, until
from tests.support.threaded_endpoint import held
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.ci
ORIGIN = Origin("http://127.0.0.1")
NOTE = "You are no longer a member of this project."


class Team:
    """Ada owns a project, in which Bob is a member."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.ada, self.bob = site.program(), site.program()
        self.project = ""
        self.member = ""

    async def form(self, ada: httpx.AsyncClient) -> None:
        made = (await ada.post("projects", json={"name": "Harbour"})).raise_for_status()
        self.project = f"projects/{made.json()['id']}"
        await self.let_in(ada)

    async def let_in(self, ada: httpx.AsyncClient) -> None:
        body = {"username": self.bob.name, "role": "member"}
        added = (await ada.post(f"{self.project}/members", json=body)).raise_for_status()
        self.member = f"{self.project}/members/{added.json()['user_id']}"

    @property
    def question(self) -> dict[str, Any]:
        return {"question": "What is it?", "project": self.project.removeprefix("projects/")}

    async def open_page(self, conversation: str) -> ClientConnection:
        """The socket of Bob's page."""
        server = self.site.server.address
        async with httpx.AsyncClient(base_url=server, trust_env=False) as browser:
            await browser.get("/door/enter", params={"name": self.bob.name})
            cookie = f"sessionid={browser.cookies['sessionid']}"
        key = self.question["project"]
        address = f"{server.replace('http', 'ws')}/ws/{key}/{conversation}/"
        headers = {"Cookie": cookie}
        return await connect(address, additional_headers=headers, origin=ORIGIN, proxy=None)


async def code_of(page: ClientConnection) -> int:
    async with asyncio.timeout(PATIENCE):
        try:
            while True:
                await page.recv()
        except ConnectionClosed:
            return page.close_code or 0


async def test_streams_pages_and_runs_of_whoever_is_removed_end_at_once(site: Site) -> None:
    team = Team(site)
    team.bob.plays(held("Half of it, ", "never.", site.stage.gate()))
    async with team.ada.client() as ada, team.bob.client() as bob:
        await team.form(ada)
        async with bob.stream("POST", "oracle/stream", json=team.question) as got:
            stream = events(got)
            await until(stream, "Half of it, ")
            run = f"oracle/runs/{got.headers['oracle-run']}"
            page = await team.open_page(got.headers["oracle-conversation"])
            assert (await ada.delete(team.member)).status_code == 204
            assert "never" not in text_of(await rest(stream))
        assert await code_of(page) == NOT_ALLOWED
        for address in (run, f"{run}/stream", team.project, f"{team.project}/members"):
            assert (await bob.get(address)).status_code == 404
        assert (await bob.post("oracle", json=team.question)).status_code == 404
        assert (await bob.get("conversations")).json()["conversations"] == []
        await team.let_in(ada)
        again = (await bob.get(run)).raise_for_status().json()
        assert (again["outcome"], again["reason"]) == ("cancelled", "user_cancelled")
        assert NOTE in str(again)


async def test_a_token_goes_on_in_ones_other_projects(site: Site) -> None:
    team = Team(site)
    team.bob.plays(held("Half of it, ", "the rest.", gate := site.stage.gate()))
    async with team.ada.client() as ada, team.bob.client() as bob:
        (own,) = (await bob.get("projects")).json()["projects"]
        await team.form(ada)
        question = {"question": "Mine?", "project": own["id"]}
        async with bob.stream("POST", "oracle/stream", json=question) as got:
            stream = events(got)
            seen = await until(stream, "Half of it, ")
            assert (await ada.delete(team.member)).status_code == 204
            gate.open()
            assert text_of(seen + await rest(stream)) == "Half of it, the rest."
