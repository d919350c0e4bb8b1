"""Passwords that are guessed at, by many at once; and somebody who knows theirs."""

import asyncio
import time
from contextlib import AsyncExitStack

import httpx

from tests.attack.scene import Scene
from tests.attack.target import ATTACKER, PASSWORD

HONEST_SECONDS = 12.0
"""At most five of them are a delay, for a name that others guess at."""


async def sign_in_names(scene: Scene) -> None:
    """Passwords for many names, from one address; somebody else signs in meanwhile."""
    sources = [ATTACKER]
    await asyncio.gather(_guess(scene, sources), _honest(scene))


async def sign_in_addresses(scene: Scene) -> None:
    """Passwords for one name, from many addresses; its owner signs in meanwhile."""
    sources = [f"127.0.7.{number}" for number in range(1, scene.crowd + 1)]
    await asyncio.gather(_guess(scene, sources, "honest"), _honest(scene))


async def _guess(scene: Scene, sources: list[str], name: str = "") -> None:
    async with AsyncExitStack() as opening:
        clients = [
            await opening.enter_async_context(scene.target.client(source=source))
            for source in sources
        ]
        form = await _form(clients[0])

        async def act() -> None:
            guess = {**form, "username": name or f"n{scene.rng.random()}", "password": "guess"}
            await _post(scene.rng.choice(clients), guess)

        await scene.together(act)


async def _honest(scene: Scene) -> None:
    """Somebody who knows their password, from their own address, in the middle of it."""
    async with scene.target.client(source="127.0.0.1") as http:
        form = await _form(http)
        await asyncio.sleep(scene.left / 3)
        began = time.monotonic()
        answer = await _post(http, {**form, "username": "honest", "password": PASSWORD})
        took = time.monotonic() - began
    if answer.status_code != 302 or took > HONEST_SECONDS:
        scene.broken.append(f"an honest sign-in got {answer.status_code} after {took:.1f} s")


async def _form(http: httpx.AsyncClient) -> dict[str, str]:
    await http.get("/sign-in/")
    return {"csrfmiddlewaretoken": http.cookies["csrftoken"]}


async def _post(http: httpx.AsyncClient, form: dict[str, str]) -> httpx.Response:
    cookie = {"Cookie": f"csrftoken={form['csrfmiddlewaretoken']}"}
    return await http.post("/sign-in/", data=form, headers=cookie)
