"""Names in a project's code: where they are defined and used; a map of what matters most."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from agents.code.project_code import ProjectCode
from agents.code.service import CodeError
from agents.models import Project
from agents.web.requests import get_user
from chat.library.code_page import group_references, show_definitions, show_map
from chat.rendering import quota
from chat.views.library.helpers import clean, library_page, parse_number, render_page

MAX_REFERENCES = 50
MAX_DEFINITIONS = 20
MAP_SIZES = (1_000, 2_000, 4_000, 8_000)
"""In tokens."""


@require_GET
@library_page()
@quota.limit_rendering
def symbol(request: HttpRequest, project: Project) -> HttpResponse:
    """Show where a name is defined and used."""
    name = clean(request.GET.get("name", ""))
    context: dict[str, Any] = {"part": "code", "symbol": name}
    code = get_code(request, project)
    try:
        context |= _find_name(code, name) if name else {}
    except CodeError as error:
        context["refusal"] = str(error)
    context["limits"] = code.explain_limits()
    return render_page(request, project, "chat/library/code/symbol.html", context)


def _find_name(code: ProjectCode, name: str) -> dict[str, Any]:
    found = code.find_references(name, MAX_REFERENCES)
    definitions = code.find_definitions(name)
    return {
        "found": found,
        "definitions": show_definitions(definitions[:MAX_DEFINITIONS]),
        "definition_count": len(definitions),
        "groups": group_references(found.found),
    }


@require_GET
@library_page()
def repo_map(request: HttpRequest, project: Project) -> HttpResponse:
    """Show what matters most in a project's code, below a folder or about a question."""
    scope, size = clean(request.GET.get("scope", "")), parse_number(request.GET.get("tokens"))
    size = size if size in MAP_SIZES else 2_000
    context: dict[str, Any] = {"part": "code", "scope": scope, "tokens": size, "sizes": MAP_SIZES}
    code = get_code(request, project)
    try:
        found = code.build_map(scope, size)
        context |= {"found": found, "tree": show_map(project, found.files)}
    except CodeError as error:
        context["refusal"] = str(error)
    context["limits"] = code.explain_limits()
    return render_page(request, project, "chat/library/code/map.html", context)


def get_code(request: HttpRequest, project: Project) -> ProjectCode:
    return ProjectCode(project.pk, get_user(request).pk)
