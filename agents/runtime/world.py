"""The outside world of this site's runs: models and tools as environment and settings say."""

import shutil
from functools import lru_cache
from pathlib import Path

import httpx
from django.conf import settings

from agents.core.clock import LoopClock
from agents.core.ports import ChatModel, ToolRunner
from agents.core.prompt import NOTES_SHOWN, system_prompt
from agents.llm.addresses import NotAllowed
from agents.llm.client import NoModel, OpenAIChatModel
from agents.llm.errors import NotFound, WrongAddress
from agents.llm.offline import OfflineModel
from agents.models import ModelSettings, Project
from agents.runtime.endpoints import Answering, answering, model_name
from agents.runtime.requests import RunRequest
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from agents.tools.notes import SAMPLE_PROJECT, FolderNotes

DELEGATE = "delegate_librarian"
NONE_CHOSEN = "No model is chosen for your endpoint. Choose one in the settings, under Models."


class SiteWorld:
    """With no endpoint at all, the embedded model answers from the notes.

    `http` goes to the site's endpoint, which is trusted; `own` to those that people have entered.
    """

    def __init__(self, http: httpx.AsyncClient, own: httpx.AsyncClient) -> None:
        self._http = http
        self._own = own

    def model(self, request: RunRequest) -> ChatModel:
        return self._model(request.model, ModelSettings.of(request.user))

    def tools(self, request: RunRequest, model: ChatModel) -> ToolRunner:
        notes = notes_of(request.project)
        chosen = ModelSettings.of(request.user)
        reading = [t for name, t in TOOLS if name != DELEGATE and not t.writes]
        if chosen.is_embedded:
            return ToolExecutor(reading, [notes])
        librarian = Librarian(
            model=self._model(chosen.subagent_model or request.model, chosen),
            tools=ToolExecutor(reading, [notes]),
            seconds=chosen.librarian_timeout,
        )
        return ToolExecutor([tool for _, tool in TOOLS], [notes, librarian])

    def system(self, request: RunRequest) -> str:
        recent = notes_of(request.project).recent(NOTES_SHOWN)
        return system_prompt(request.project.name, recent)

    def _model(self, name: str, chosen: ModelSettings) -> ChatModel:
        name = model_name(name, chosen)
        try:
            place = answering(chosen)
        except NotAllowed as refused:
            return NoModel(name or "none chosen", WrongAddress(str(refused)))
        if place is None:
            return OfflineModel()
        if not name:
            return NoModel("none chosen", NotFound(NONE_CHOSEN))
        http = self._own if place.is_own else self._http
        return model_at(http, place, name, chosen)


def model_at(
    http: httpx.AsyncClient, place: Answering, name: str, chosen: ModelSettings
) -> OpenAIChatModel:
    """A model at an endpoint, asked as somebody's settings say."""
    return OpenAIChatModel(
        http,
        place.base_url,
        name,
        api_key=place.api_key,
        thinking=chosen.thinking_enabled,
        effort=chosen.reasoning_effort,
        clock=LoopClock(),
    )


def notes_of(project: Project) -> FolderNotes:
    """The notes of a project."""
    return _notes(notes_folder(project))


@lru_cache(maxsize=64)
def _notes(folder: Path) -> FolderNotes:
    """One index per folder, kept: making it is slow, refreshing it is not."""
    return FolderNotes(folder, writable=True)


def notes_folder(project: Project) -> Path:
    """Where a project's notes lie."""
    folder: Path = settings.DATA_DIR / "projects" / str(project.pk)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def add_sample_notes(project: Project) -> None:
    shutil.copytree(SAMPLE_PROJECT, notes_folder(project), dirs_exist_ok=True)
