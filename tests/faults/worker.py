"""A process that drives scripted runs and prints what a client of it has received.

Started by `test_kill.py`, which kills it. Each line is a JSON object: {"run", "seq", "text"}.
"""

import asyncio
import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oracle_site.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402  # after the set-up

from agents.core.chunks import Content  # noqa: E402  # after the set-up
from agents.core.config import AgentConfig  # noqa: E402  # after the set-up
from agents.models import Project  # noqa: E402  # after the set-up
from agents.runtime import RunRequest, Runtime  # noqa: E402  # after the set-up
from tests.agents.runtime.worlds import ScriptedWorld  # noqa: E402  # after the set-up
from tests.support.script import call, say  # noqa: E402  # after the set-up
from tests.support.scripted_model import ScriptedModel  # noqa: E402  # after the set-up

RUNS = 3


def say_line(**data: object) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


async def one(runtime: Runtime, request: RunRequest) -> None:
    row = await runtime.start(request)
    async for chunk in runtime.follow(row.pk):
        text = chunk.content if isinstance(chunk, Content) else ""
        say_line(run=str(row.pk), seq=chunk.seq, text=text)


async def main() -> None:
    user = await User.objects.aget()
    project = await Project.objects.aget()
    steps = [call("look", page=1), say("word " * 400, piece_delay=0.002)] * RUNS
    world = ScriptedWorld(ScriptedModel(steps))
    request = RunRequest(user=user, project=project, question="Why?", config=AgentConfig())
    async with Runtime(world) as runtime:
        say_line(ready=True)
        await asyncio.gather(*(one(runtime, request) for _ in range(RUNS)))


if __name__ == "__main__":
    asyncio.run(main())
