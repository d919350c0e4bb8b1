"""Search in a project's notes, as one types."""

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from agents.models import Project
from agents.vault.errors import NoteRefused
from agents.vault.note_search import search_notes
from agents.web.requests import HtmxRequest
from chat.library.note_syntax import make_anchor
from chat.views.library.helpers import library_page, render_page

MAX_QUERY_LENGTH = 300
MAX_HITS = 20


@require_GET
@library_page()
def search(request: HtmxRequest, project: Project) -> HttpResponse:
    """Show the hits; for htmx without the page around them."""
    query, tag, folder = (_clean(request.GET.get(name, "")) for name in ("q", "tag", "in"))
    context: dict[str, Any] = {"query": query, "tag": tag, "in_folder": folder}
    if query:
        try:
            found = search_notes(project.pk, [query], limit=MAX_HITS, tag=tag, folder=folder)
            hits = [(hit, _make_anchor(hit.heading)) for hit in found.hits]
            context |= {"found": found, "hits": hits}
        except NoteRefused as error:
            context["refusal"] = str(error)
    name = "chat/library/partials/_hits.html" if request.htmx else "chat/library/search.html"
    return render_page(request, project, name, context)


def _clean(given: str) -> str:
    return given.replace("\0", "").strip()[:MAX_QUERY_LENGTH]


def _make_anchor(headings: str) -> str:
    """Return where on the page of a note the last of these headings is."""
    return make_anchor(headings.rpartition(" > ")[2]) if headings else ""
