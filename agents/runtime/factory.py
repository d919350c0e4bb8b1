"""The outside world of this site's runs: models and tools as environment and settings say."""

import logging
from collections.abc import Mapping, Sequence
from uuid import UUID

import httpx

from agents.approvals import find_known_versions
from agents.code.listing import has_code
from agents.code.project_code import ProjectCode
from agents.code.service import Code
from agents.core.control.event_stream import SELF_NOTE_TOOL
from agents.core.ports import ChatModel, Service, ToolRunner
from agents.endpoints.selection import NO_MODEL_CHOSEN, build_model, model_name, select_endpoint
from agents.llm import EndpointNotAllowed, NotFound, OfflineModel, UnavailableModel, WrongAddress
from agents.models import ModelSettings, SiteSettings
from agents.projects.queries import can_write
from agents.runtime.requests import RunRequest
from agents.runtime.system_prompt import build_system_prompt
from agents.tools.catalogue import TOOLS
from agents.tools.definition import Tool
from agents.tools.delegating_runner import DelegatingRunner
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import DELEGATE_TOOL, INDEX_TOOL, Librarian
from agents.tools.self_notes import NoteCount
from agents.tools.summary_cache import SummaryCache
from agents.tools.web_hosts import WebHosts, WebNotAllowed
from agents.tools.web_pages import WebPages
from agents.vault.author import Author
from agents.vault.project_notes import ProjectNotes
from agents.vault.project_threads import ProjectThreads

OPTIONAL_SERVICES = (Code, WebPages)
"""Tools that need one which a run has not are not offered in it."""
logger = logging.getLogger(__name__)
_NONE_KNOWN: Mapping[str, int] = {}


class SiteRunFactory:
    """With no endpoint at all, the embedded model answers from the notes.

    `http` goes to the site's endpoint, which is trusted; `own_http` to those that people enter.
    """

    def __init__(self, http: httpx.AsyncClient, own_http: httpx.AsyncClient) -> None:
        self._http = http
        self._own_http = own_http

    def model(self, request: RunRequest) -> ChatModel:
        return self._build_model(request.model, _get_model_settings(request))

    def tools(self, request: RunRequest, model: ChatModel, run_id: UUID) -> ToolRunner:
        project_id = request.project.pk
        known = find_known_versions(run_id) if request.continued_from is not None else {}
        world = build_world(project_id, Author.run(run_id, request.user.pk), known)
        chosen = _get_model_settings(request)
        writing = can_write(request.user, request.project)
        offered = offered_tools(chosen, world, writing=writing)
        reading = _reading_tools(world)
        organising = [*reading, TOOLS.get(INDEX_TOOL)]
        librarian = Librarian(
            model=self._build_model(chosen.subagent_model or request.model, chosen),
            tools=ToolExecutor(reading, world),
            seconds=chosen.librarian_timeout,
            cache=SummaryCache(project_id, request.user.pk),
            organising_tools=ToolExecutor(organising, world) if writing else None,
        )
        tools = ToolExecutor(offered, [*world, librarian])
        if chosen.is_embedded or not chosen.delegate_long_results:
            return tools  # the embedded model reads a result of any length itself, word for word
        return DelegatingRunner(tools, librarian, request.question)

    def system_prompt(self, request: RunRequest) -> str:
        writing = can_write(request.user, request.project)
        return build_system_prompt(request.project, can_write=writing)

    def _build_model(self, name: str, chosen: ModelSettings) -> ChatModel:
        name = model_name(name, chosen)
        try:
            place = select_endpoint(chosen)
        except EndpointNotAllowed as refused:
            return UnavailableModel(name or "none chosen", WrongAddress(str(refused)))
        if place is None:
            return OfflineModel()
        if not name:
            return UnavailableModel("none chosen", NotFound(NO_MODEL_CHOSEN))
        http = self._own_http if place.is_own else self._http
        return build_model(http, place, name, chosen)


def _get_model_settings(request: RunRequest) -> ModelSettings:
    return request.model_settings or ModelSettings.for_user(request.user)


def build_world(
    project_id: UUID, author: Author, known: Mapping[str, int] = _NONE_KNOWN
) -> list[Service]:
    """Return what the tools of a run work on; code and web pages where there are any.

    `known` are versions of notes that need not be read again before they are replaced.
    """
    world: list[Service] = [
        ProjectNotes(project_id, author, known),
        ProjectThreads(project_id, author),
        NoteCount(),
    ]
    if has_code(project_id):
        world.append(ProjectCode(project_id, author.user_id))
    if web := _load_web_pages():
        world.append(web)
    return world


def _load_web_pages() -> WebPages | None:
    """Return what reads pages of the web; None if the administrator allows no host."""
    try:
        hosts = WebHosts.parse(SiteSettings.load().web_hosts)
    except WebNotAllowed as error:  # only the admin's form keeps such lines out
        logger.warning("web_fetch is off: %s", error)
        return None
    return WebPages(hosts) if hosts else None


def offered_tools(chosen: ModelSettings, world: Sequence[Service], *, writing: bool) -> list[Tool]:
    """Return the tools of somebody's runs. The embedded model and readers' runs only read."""
    may_write = writing and not chosen.is_embedded
    useless = {SELF_NOTE_TOOL} if chosen.is_embedded else set()
    return [t for t in _list_tools(world) if (may_write or not t.writes) and t.name not in useless]


def _reading_tools(world: Sequence[Service]) -> list[Tool]:
    """Return the tools of a librarian: it starts no other, and its notes would be nobody's."""
    others = (DELEGATE_TOOL, SELF_NOTE_TOOL)
    return [t for t in _list_tools(world) if t.name not in others and not t.writes]


def _list_tools(world: Sequence[Service]) -> list[Tool]:
    missing = {
        kind for kind in OPTIONAL_SERVICES if not any(isinstance(each, kind) for each in world)
    }
    return [tool for _, tool in TOOLS if not missing.intersection(tool.injected.values())]
