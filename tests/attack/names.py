"""People whose endpoints have host names that take long to resolve."""

import asyncio
from contextlib import AsyncExitStack, suppress

from tests.attack.model import Say
from tests.attack.resolver import SLOW_DOMAIN
from tests.attack.scene import ENDED, GONE, Scene, asks, says
from tests.attack.target import PATIENCE, Somebody

ANSWER_SECONDS = 5.0
LOOKUPS = 4
"""Slow names under way that fill the threads of an event loop."""


async def slow_names(scene: Scene) -> None:
    """Questions to endpoints with slow names, while another person asks the site's endpoint."""
    people = await asyncio.to_thread(_enter_slow_names, scene)
    bystander = await asyncio.to_thread(scene.target.person, f"bystander-{scene.mallory.name}")
    before = await _count_slow_hosts(scene)
    async with AsyncExitStack() as tabs:
        for person in people:
            tab = await tabs.enter_async_context(person.connect())
            await says(tab, "resume", head="", live=[])
            await asks(tab, Say(text="Here."))
            scene.acts += 1
        async with asyncio.timeout(PATIENCE):
            while await _count_slow_hosts(scene) < before + LOOKUPS:  # noqa: ASYNC110  # of a server
                await asyncio.sleep(0.05)
        is_answered = True
        while is_answered:
            is_answered = await _is_answered(bystander)
            if not scene.is_on:
                break
        if not is_answered:
            scene.broken.append("another person's question was not answered")


def _enter_slow_names(scene: Scene) -> list[Somebody]:
    people = []
    for number in range(max(scene.crowd, LOOKUPS + 1)):
        name = f"slow-{number}-{scene.mallory.name}"
        people.append(scene.target.person(name))
        base_url = f"http://{name}{SLOW_DOMAIN}/v1"
        scene.target.door("endpoint", name=name, base_url=base_url)
    return people


async def _count_slow_hosts(scene: Scene) -> int:
    found = await asyncio.to_thread(scene.target.door, "names")
    return int(found["slow"])


async def _is_answered(person: Somebody) -> bool:
    with suppress(*GONE):
        async with asyncio.timeout(ANSWER_SECONDS), person.connect() as tab:
            await says(tab, "resume", head="", live=[])
            await asks(tab, Say(text="Here."))
            async for frame in tab:
                if ENDED.search(str(frame)):
                    return True
    return False
