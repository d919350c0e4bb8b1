"""The code of a project: search, files, definitions and uses of names, a map."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from agents.code.listing import get_code_file
from agents.code.project_code import ProjectCode
from agents.models import CodeFile
from agents.models.api_tokens import Scope
from agents.projects.queries import get_project
from chat.api.code_schemas import (
    CodeFileQuery,
    CodeFileView,
    CodeHitList,
    CodeHitView,
    CodeSearchQuery,
    DefinitionList,
    DefinitionQuery,
    DefinitionView,
    MappedFileView,
    MapQuery,
    MapView,
    ReferenceList,
    ReferenceQuery,
    ReferenceView,
)
from chat.api.framework import ApiRequest, endpoint
from chat.api.projects import PROJECT_PATH
from chat.api.runtime import run_db
from chat.rendering.code_lines import split_code

CODE_PATH = f"{PROJECT_PATH}/code"
V = TypeVar("V", bound=BaseModel)


async def _ask(request: ApiRequest, project_id: UUID, question: Callable[[ProjectCode], V]) -> V:
    """Ask the code of a project that the person can open."""

    def work() -> V:
        project = get_project(request.user, project_id)
        return question(ProjectCode(project.pk, request.user.pk))

    return await run_db(work)


@endpoint(
    "GET",
    f"{CODE_PATH}/search",
    "Search a project's code",
    scopes=[Scope.READ],
    query=CodeSearchQuery,
    answers=CodeHitList,
)
async def search_code(request: ApiRequest, project_id: UUID, query: CodeSearchQuery) -> CodeHitList:
    def search(code: ProjectCode) -> CodeHitList:
        found = code.search([query.q], query.limit, language=query.language)
        hits = [CodeHitView.build(hit) for hit in found.hits]
        return CodeHitList(hits=hits, missing_words=list(found.missing_words))

    return await _ask(request, project_id, search)


@endpoint(
    "GET",
    f"{CODE_PATH}/file",
    "Lines of a file of code",
    scopes=[Scope.READ],
    query=CodeFileQuery,
    answers=CodeFileView,
)
async def show_code_file(
    request: ApiRequest, project_id: UUID, query: CodeFileQuery
) -> CodeFileView:
    def load() -> CodeFileView:
        project = get_project(request.user, project_id)
        return _serialize_file(get_code_file(project.pk, query.path), query)

    return await run_db(load)


def _serialize_file(file: CodeFile, query: CodeFileQuery) -> CodeFileView:
    lines = split_code(file.text)
    return CodeFileView(
        path=file.path,
        language=file.language,
        reading=file.reading,
        size=file.size,
        blob_hash=file.blob_hash,
        line_count=len(lines),
        first=query.first,
        lines=lines[query.first - 1 : query.first - 1 + query.count],
    )


@endpoint(
    "GET",
    f"{CODE_PATH}/definitions",
    "Where a name is defined",
    scopes=[Scope.READ],
    query=DefinitionQuery,
    answers=DefinitionList,
)
async def find_definitions(
    request: ApiRequest, project_id: UUID, query: DefinitionQuery
) -> DefinitionList:
    def find(code: ProjectCode) -> DefinitionList:
        found = code.find_definitions(query.symbol, query.scope)
        return DefinitionList(definitions=[DefinitionView.build(each) for each in found])

    return await _ask(request, project_id, find)


@endpoint(
    "GET",
    f"{CODE_PATH}/references",
    "Lines that use a name",
    scopes=[Scope.READ],
    query=ReferenceQuery,
    answers=ReferenceList,
)
async def find_references(
    request: ApiRequest, project_id: UUID, query: ReferenceQuery
) -> ReferenceList:
    def find(code: ProjectCode) -> ReferenceList:
        found = code.find_references(query.symbol, query.limit)
        return ReferenceList(
            definitions=[DefinitionView.build(each) for each in found.definitions],
            references=[ReferenceView.build(each) for each in found.found],
            total=found.total,
        )

    return await _ask(request, project_id, find)


@endpoint(
    "GET",
    f"{CODE_PATH}/map",
    "What matters most in a project's code",
    scopes=[Scope.READ],
    query=MapQuery,
    answers=MapView,
)
async def show_map(request: ApiRequest, project_id: UUID, query: MapQuery) -> MapView:
    def build(code: ProjectCode) -> MapView:
        found = code.build_map(query.scope, query.max_tokens)
        files = [
            MappedFileView(
                path=file.path, definitions=[DefinitionView.build(d) for d in file.definitions]
            )
            for file in found.files
        ]
        return MapView(
            files=files, file_count=found.file_count, definition_count=found.definition_count
        )

    return await _ask(request, project_id, build)
