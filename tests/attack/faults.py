"""What happens to a server without anybody's ill will: clocks that jump, disks that are full."""

import asyncio
import sqlite3
from contextlib import closing

import httpx

from tests.attack.scene import Scene
from tests.support.server import full_disk as no_room

DAY = 24 * 3600.0


async def clock(scene: Scene) -> None:
    """The clock jumps ahead and back, by hours and by a day; links are made meanwhile."""
    loop = asyncio.get_running_loop()
    links: list[str] = []

    async def turn(ahead: float) -> None:
        await loop.run_in_executor(None, lambda: scene.target.door("clock", ahead=ahead))
        scene.acts += 1

    while scene.is_on:
        for ahead in (3600.0, DAY, -3600.0, 0.0):
            await turn(ahead)
            if ahead == DAY:
                made = await asyncio.to_thread(
                    lambda: scene.target.door("link", name=scene.mallory.name)
                )
                links.append(made["link"])
            await asyncio.sleep(min(0.3, scene.left))
    await turn(0.0)
    async with scene.target.client() as http:
        for link in links:
            if (status := (await http.get(link)).status_code) != 410:
                scene.broken.append(f"a link of the future is answered with {status}")


async def full_disk(scene: Scene) -> None:
    """Nothing can be written; then it can again."""
    await _when_all_is_well(scene)
    with no_room(scene.target.server):
        await _says(scene, "disk", 503)
    await _ready_again(scene)


async def locked(scene: Scene) -> None:
    """Somebody else holds the database; then lets it go."""
    await _when_all_is_well(scene)
    path = scene.target.rows.path
    with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await _says(scene, "locked", 503)
        other.execute("ROLLBACK")
    await _ready_again(scene)


async def _when_all_is_well(scene: Scene) -> None:
    """Let the other person ask first: what they are reading then is what must not be lost."""
    await asyncio.sleep(scene.left / 3)


async def _says(scene: Scene, why: str, status: int) -> None:
    """Ask whether the server is ready until the time is over; it must have said no by then."""
    said: list[tuple[int, str]] = []
    async with scene.target.client() as http:
        while scene.is_on or len(said) < 3:
            answer = await http.get("/readyz")
            said.append((answer.status_code, answer.text))
            scene.acts += 1
            await asyncio.sleep(0.1)
    if not any(code == status and why in text for code, text in said):
        scene.broken.append(f"/readyz never said so: {sorted(set(said))}")


async def _ready_again(scene: Scene) -> None:
    async with scene.target.client() as http:
        for _ in range(100):
            if (await http.get("/readyz")).status_code == httpx.codes.OK:
                return
            await asyncio.sleep(0.2)
    scene.broken.append("/readyz does not become 200 again")
