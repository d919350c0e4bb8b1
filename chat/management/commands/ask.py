"""`manage.py ask`: one run in the terminal, in a conversation like any other."""

import asyncio
import json
import signal
import sys
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from agents.core.chunks import Done, OracleStreamChunk, to_dict
from agents.core.config import ConfigError
from agents.core.decisions.protocol import TREES
from agents.core.registry import NotRegistered
from agents.management.arguments import parse_integers
from agents.management.lookup import find_project, find_user
from agents.management.terminal import Terminal
from agents.models import AgentRun
from agents.projects.queries import runs_for
from agents.runtime import RunRefused, get_mode, open_runtime
from agents.vault.legacy_folders import import_legacy_folders
from chat.conversations import queries
from chat.errors import ChatError
from chat.models import Conversation
from chat.services import ask, continue_run
from chat.services.ask import PreparedRun, RunOptions

ACTIVE = "active"
EXIT_CODES = {"completed": 0, "limited": 0, "paused": 3, "failed": 1, "cancelled": 130}


class Command(BaseCommand):
    help = "Ask the agent one question. Ctrl-C stops the run; what it wrote is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--user", help="who asks; not needed with one user or administrator")
        parser.add_argument("--project", help="by name; not needed while there is one")
        parser.add_argument(
            "--conversation",
            metavar="ID",
            help="ask in this one, or in your newest: active; without it, start a new one",
        )
        parser.add_argument("--tree", help=f"the mode: {', '.join(TREES.names())}, or a behaviour")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="FIELD=VALUE",
            help="override a limit for this run",
        )
        parser.add_argument(
            "--continue", dest="continued", metavar="RUN", help="continue from this run"
        )
        parser.add_argument("--json", action="store_true", help="one chunk per line, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        import_legacy_folders()
        try:
            asked = _prepare_run(options)
        except (ChatError, ConfigError) as error:
            raise CommandError(str(error)) from None
        show = _write_json_line if options["json"] else Terminal(sys.stdout).show
        try:
            outcome = asyncio.run(self._ask(asked, show))
        except KeyboardInterrupt:  # before the run began, or again while it was being stopped
            self.stderr.write("Stopped.")
            outcome = "cancelled"
        sys.exit(EXIT_CODES[outcome])

    async def _ask(self, asked: PreparedRun, show: Any) -> str:
        outcome = "failed"
        async with open_runtime() as runtime:
            try:
                run = await runtime.start(asked.request, asked.attach)
            except (RunRefused, ChatError) as error:
                raise CommandError(str(error)) from None
            if run.conversation_key is not None:
                runtime.notify_changed(run.conversation_key)
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
        self.stderr.write(f"conversation {run.conversation_key}, run {run.pk}")
        return outcome


def _find_mode(name: str | None, user: User) -> str | None:
    try:
        return get_mode(name, user, called="tree").name if name is not None else None
    except NotRegistered as error:
        raise CommandError(str(error)) from None


def _prepare_run(options: dict[str, Any]) -> PreparedRun:
    """Return the question, ready to be started where the options say."""
    user, question = find_user(options["user"]), options["question"]
    tree = _find_mode(options["tree"], user)
    run_options = RunOptions(tree=tree, overrides=parse_integers("--set", options["set"]))
    earlier = _get_earlier_run(options["continued"], user)
    if options["conversation"] == ACTIVE and earlier is None:
        project = find_project(options["project"], user)
        return ask.ask_in_newest(user, project.pk, question, run_options)
    talk = _get_conversation(options["conversation"], user)
    if earlier is not None and talk is not None and earlier.conversation_key != talk.pk:
        raise CommandError(f"Run {earlier.pk} is not in conversation {talk.pk}.")
    for what, named in (("Conversation", talk), ("Run", earlier)):
        if named is not None and options["project"] not in (None, named.project.name):
            raise CommandError(f"{what} {named.pk} is in the project {named.project.name!r}.")
    if earlier is not None and earlier.conversation_key is not None:
        return continue_run.follow_up(user, earlier.pk, question, run_options)
    if talk is not None:
        return ask.ask(user, question, conversation_id=talk.pk, options=run_options)
    project = find_project(options["project"], user)
    return ask.start_conversation(
        user,
        project.pk,
        question,
        options=run_options,
        continued_from=earlier.pk if earlier else None,
    )


def _get_conversation(name: str | None, user: User) -> Conversation | None:
    """Return the conversation to ask in, of this user."""
    if name is None:
        return None
    try:
        return queries.get(user, UUID(name))
    except ValueError:
        raise CommandError(
            f"{name!r} is not the id of a conversation; the address of its page ends with it. "
            "Your newest one is: active."
        ) from None
    except ChatError:
        raise CommandError(f"There is no conversation {name} of yours.") from None


def _get_earlier_run(name: str | None, user: User) -> AgentRun | None:
    """Return the ended run to go on from."""
    if name is None:
        return None
    try:
        run_id = UUID(name)
    except ValueError:
        raise CommandError(
            f"{name!r} is not the id of a run; `manage.py runs` lists them."
        ) from None
    run = runs_for(user).filter(pk=run_id).first()
    if run is None:
        raise CommandError(f"There is no run {name} of yours; `manage.py runs` lists them.")
    if run.outcome is None:
        raise CommandError(f"Run {name} has not ended yet.")
    return run


def _write_json_line(chunk: OracleStreamChunk) -> None:
    sys.stdout.write(json.dumps(to_dict(chunk), ensure_ascii=False) + "\n")
    sys.stdout.flush()
