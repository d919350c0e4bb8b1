"""Code that is read in by another process while people use the site."""

import asyncio
import sys
from contextlib import suppress

from tests.attack.scene import Scene
from tests.support.server import ROOT, environment

CODE = ROOT / "agents"


async def code(scene: Scene) -> None:
    """A folder of code is imported into one folder of the project after the other."""
    while scene.is_on:
        scene.acts += 1
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "manage.py", "import_code", str(CODE)),
            *("--project", scene.mallory.project, "--user", scene.mallory.name),
            *("--into", f"copy {scene.acts}"),
            cwd=ROOT,
            env=environment(scene.target.folder),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(scene.left):
                _, errors = await process.communicate()
            if process.returncode:
                scene.broken.append(f"the import ended: {errors[-200:].decode(errors='replace')}")
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()  # what is in stays in
            await process.communicate()
