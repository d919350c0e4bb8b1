"""The tags of a project."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from agents.models import Project
from agents.vault.listing import TagCounts, notes_with_tag
from chat.views.library.helpers import library_page, render_page

PAGE_SIZE = 200


@require_GET
@library_page()
def tags(request: HttpRequest, project: Project) -> HttpResponse:
    """Show all tags with how many notes have them, or the notes that have one of them."""
    tag = request.GET.get("tag", "").replace("\0", "").strip().lstrip("#")[:200]
    listed: Any
    if tag:
        listed = notes_with_tag(project.pk, tag).defer("text").order_by("key")
    else:
        listed = TagCounts(project.pk)
    page = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    pages_of = f"{urlencode({'tag': tag})}&" if tag else ""
    most = len(listed) if not tag and listed.is_cut else 0
    context = {"tag": tag, "page": page, "pages_of": pages_of, "most": most}
    return render_page(request, project, "chat/library/tags.html", context)
