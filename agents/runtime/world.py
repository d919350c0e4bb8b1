"""The outside world of this site's runs: models and tools as environment and settings say."""

import shutil
from functools import lru_cache
from pathlib import Path

import httpx
from django.conf import settings

from agents.core.clock import LoopClock
from agents.core.ports import ChatModel, ToolRunner
from agents.core.prompt import NOTES_SHOWN, system_prompt
from agents.llm.client import OpenAIChatModel
from agents.llm.offline import OfflineModel
from agents.models import ModelSettings, Project
from agents.runtime.requests import RunRequest
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from agents.tools.notes import SAMPLE_PROJECT, FolderNotes

DELEGATE = "delegate_librarian"


class SiteWorld:
    """With no endpoint configured, the embedded model answers from the notes."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    def model(self, request: RunRequest) -> ChatModel:
        chosen = ModelSettings.of(request.user)
        if not settings.ORACLE_LLM_BASE_URL:
            return OfflineModel()
        return self._endpoint(request.model or chosen.oracle_model, chosen)

    def tools(self, request: RunRequest, model: ChatModel) -> ToolRunner:
        notes = notes_of(request.project)
        chosen = ModelSettings.of(request.user)
        reading = [t for name, t in TOOLS if name != DELEGATE and not t.writes]
        if not settings.ORACLE_LLM_BASE_URL:
            return ToolExecutor(reading, [notes])
        librarian = Librarian(
            model=self._endpoint(chosen.subagent_model or chosen.oracle_model, chosen),
            tools=ToolExecutor(reading, [notes]),
            seconds=chosen.librarian_timeout,
        )
        return ToolExecutor([tool for _, tool in TOOLS], [notes, librarian])

    def system(self, request: RunRequest) -> str:
        recent = notes_of(request.project).recent(NOTES_SHOWN)
        return system_prompt(request.project.name, recent)

    def _endpoint(self, name: str, chosen: ModelSettings) -> ChatModel:
        return OpenAIChatModel(
            self._http,
            settings.ORACLE_LLM_BASE_URL,
            name or settings.ORACLE_LLM_MODEL,
            api_key=settings.ORACLE_LLM_API_KEY,
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
