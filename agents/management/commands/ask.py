"""`manage.py ask`: one run in the terminal, stored like any other."""

import asyncio
import json
import signal
import sys
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agents.core.chunks import Chunk, Done, to_dict
from agents.core.decision import TREES
from agents.management.given import config_with, tree_named, whole_numbers
from agents.management.people import project_named, user_named
from agents.management.terminal import Terminal
from agents.models import AgentRun, UserAgentConfig
from agents.runtime import RunRefused, RunRequest
from agents.runtime.home import open_home

EXIT = {"completed": 0, "limited": 0, "failed": 1, "cancelled": 130}


class Command(BaseCommand):
    help = "Ask the agent one question. Ctrl-C stops the run; what it wrote is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--user", help="who asks; not needed while there is one user")
        parser.add_argument("--project", help="by name; not needed while there is one")
        parser.add_argument("--tree", help=f"how to decide: {', '.join(TREES.names())}")
        parser.add_argument(
            "--set", action="append", default=[], metavar="FIELD=VALUE", help="a limit, this once"
        )
        parser.add_argument("--continue", dest="continued", metavar="RUN", help="go on from a run")
        parser.add_argument("--json", action="store_true", help="one chunk per line, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        request = self._request(options)
        show = _json_line if options["json"] else Terminal(sys.stdout).show
        try:
            outcome = asyncio.run(self._ask(request, show))
        except KeyboardInterrupt:  # before the run began, or again while it was being stopped
            outcome = "cancelled"
        sys.exit(EXIT[outcome])

    def _request(self, options: dict[str, Any]) -> RunRequest:
        user = user_named(options["user"])
        row = UserAgentConfig.of(user)
        tree = tree_named(options["tree"] or row.tree)
        config = config_with(whole_numbers("--set", options["set"]), row.to_config())
        return RunRequest(
            user=user,
            project=project_named(options["project"], user),
            question=options["question"],
            config=config,
            tree=tree,
            continued_from=_earlier(options["continued"], user.pk),
        )

    async def _ask(self, request: RunRequest, show: Any) -> str:
        outcome = "failed"
        async with open_home() as runtime:
            try:
                run = await runtime.start(request)
            except RunRefused as error:
                raise CommandError(str(error)) from None
            loop = asyncio.get_running_loop()
            stopping: set[asyncio.Task[bool]] = set()
            loop.add_signal_handler(
                signal.SIGINT, lambda: stopping.add(loop.create_task(runtime.cancel(run.pk)))
            )
            async for chunk in runtime.follow(run.pk):
                show(chunk)
                if isinstance(chunk, Done):
                    outcome = chunk.outcome
            await asyncio.gather(*stopping)
        self.stderr.write(f"run {run.pk}")
        return outcome


def _earlier(name: str | None, user_id: int) -> UUID | None:
    """The ended run to go on from."""
    if name is None:
        return None
    try:
        run_id = UUID(name)
    except ValueError:
        raise CommandError(
            f"{name!r} is not the id of a run; `manage.py runs` lists them."
        ) from None
    run = AgentRun.objects.filter(pk=run_id, user=user_id).first()
    if run is None:
        raise CommandError(f"There is no run {name} of yours; `manage.py runs` lists them.")
    if run.outcome is None:
        raise CommandError(f"Run {name} has not ended yet.")
    return run_id


def _json_line(chunk: Chunk) -> None:
    sys.stdout.write(json.dumps(to_dict(chunk), ensure_ascii=False) + "\n")
    sys.stdout.flush()
