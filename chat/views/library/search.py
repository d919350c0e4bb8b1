"""Search in a project's notes, threads and code, as one types."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from agents.code.service import CodeError
from agents.models import Project
from agents.vault.errors import VaultError
from agents.web.requests import HtmxRequest
from chat.library.search_hits import ALL, KINDS, LibrarySearch, search_library
from chat.rendering import quota
from chat.views.library.helpers import clean, library_page, render_page


@require_GET
@library_page()
@quota.limit_rendering
def search(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show the hits; for htmx without the page around them."""
    query, tag, folder, kind = (
        clean(request.GET.get(name, "")) for name in ("q", "tag", "in", "type")
    )
    search = LibrarySearch(project, query, kind if kind in KINDS else ALL, tag, folder)
    context: dict[str, Any] = {
        "part": "search",
        "query": query,
        "tag": tag,
        "in_folder": folder,
        "search_type": search.kind,
    }
    if query:
        try:
            context["found"] = search_library(search)
        except (VaultError, CodeError) as error:
            context["refusal"] = str(error)
    name = "chat/library/partials/_hits.html" if request.htmx else "chat/library/search.html"
    return render_page(request, project, name, context)
