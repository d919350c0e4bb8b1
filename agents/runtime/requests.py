"""What a run is started with, and the row that it starts as."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from django.contrib.auth.models import User

from agents.core.config import AgentConfig
from agents.core.control.observers import Observer
from agents.core.ports import ChatModel, ToolRunner
from agents.models import AgentRun, ModelSettings, Project

Attach = Callable[[AgentRun], None]
"""What the caller stores together with a new run, in the same transaction."""


class RunRefused(Exception):
    """A run cannot be started now. The message is for the person who asked."""


class ConversationBusy(RunRefused):
    """Another run of the same conversation is going on."""


class ProjectClosed(RunRefused):
    """The project takes no runs of this person: archived, deleted, or not theirs any more."""


class TooManyRuns(RunRefused):
    """This person has as many runs going as one may have."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One question, with everything that decides how it is answered."""

    user: User
    project: Project
    question: str
    config: AgentConfig
    tree: str = "default"
    model: str = ""
    """The model's name; empty: as the user's settings say."""
    model_settings: ModelSettings | None = None
    """The user's, if they were read when the question was asked; they are not read again."""
    conversation_key: UUID | None = None
    context_runs: tuple[UUID, ...] = ()
    """Runs that are replayed to the model, oldest first."""
    continued_from: UUID | None = None
    client_message_id: str | None = None
    observer: Observer | None = None
    """Is handed the run's events, in this process."""


class RunFactory(Protocol):
    """Where a run's model, tools and first words come from."""

    def model(self, request: RunRequest) -> ChatModel: ...

    def tools(self, request: RunRequest, model: ChatModel, run_id: UUID) -> ToolRunner: ...

    def system_prompt(self, request: RunRequest) -> str:
        """Return the system prompt."""
