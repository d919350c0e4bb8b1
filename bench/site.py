"""A site of its own for a measurement: SQLite in a temporary folder, users, a world of one tool.

Importing it sets Django up.
"""

import os
import tempfile
from collections.abc import Callable
from itertools import cycle
from typing import Any
from uuid import UUID

_FOLDER = tempfile.TemporaryDirectory(prefix="oracle-bench-")
os.environ["ORACLE_DATA_DIR"] = _FOLDER.name
os.environ["DJANGO_SETTINGS_MODULE"] = "oracle_site.settings"

import django  # noqa: E402  # after the environment

django.setup()

import httpx  # noqa: E402  # after the set-up
from django.contrib.auth.models import User  # noqa: E402  # after the set-up
from django.core.management import call_command  # noqa: E402  # after the set-up

from agents.core.clock import LoopClock  # noqa: E402  # after the set-up
from agents.core.config import AgentConfig  # noqa: E402  # after the set-up
from agents.core.ports import ChatModel, ToolRunner  # noqa: E402  # after the set-up
from agents.llm import OpenAIChatModel  # noqa: E402  # after the set-up
from agents.models import Project  # noqa: E402  # after the set-up
from agents.runtime import RunRequest  # noqa: E402  # after the set-up
from agents.tools.definition import define  # noqa: E402  # after the set-up
from agents.tools.executor import ToolExecutor  # noqa: E402  # after the set-up


class BenchConfig(AgentConfig):
    """The harness makes up to 51 turns of one run: more than a user may ask for."""

    max_iterations: int = 60
    token_budget: int = 1_000_000
    timeout_seconds: int = 600


CONFIG = BenchConfig()


class BenchRunFactory:
    """The scripted endpoint, and the `echo` of the run that is asked for."""

    def __init__(self, http: httpx.AsyncClient, base_url: str) -> None:
        self._model = OpenAIChatModel(http, base_url, "fake", api_key="sk-fake", clock=LoopClock())
        self.echo_text: Callable[[str], str] = str

    def model(self, request: RunRequest) -> ChatModel:
        return self._model

    def tools(self, request: RunRequest, model: ChatModel, run_id: UUID) -> ToolRunner:
        echo_text = self.echo_text

        async def echo(text: str) -> str:
            """Echo the text back."""
            return echo_text(text)

        return ToolExecutor([define(echo)])

    def system_prompt(self, request: RunRequest) -> str:
        return "You are a helpful assistant."


def build_requests(users: int) -> Callable[[str], RunRequest]:
    """Migrate, then make requests of so many users in turn: each may have a few runs going."""
    call_command("migrate", verbosity=0)
    project = Project.objects.create(name="bench")
    members = [User.objects.create_user(f"user{n}") for n in range(users)]
    project.members.add(*members)
    people: Any = cycle(members)
    return lambda question: RunRequest(
        user=next(people), project=project, question=question, config=CONFIG
    )
