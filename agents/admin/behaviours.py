"""Behaviours that staff have written for the site, and what is wrong with files of the operator's.
They are written in the settings, where each is drawn."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from agents.admin.base import ReadOnlyAdmin
from agents.models import StoredBehaviour
from agents.runtime import find_file_problems


@admin.register(StoredBehaviour)
class BehaviourAdmin(ReadOnlyAdmin):
    """Of the site alone: what people write for themselves is theirs."""

    list_display = ("link", "version", "changed_at", "changed_by")
    list_per_page = 50
    list_select_related = ("changed_by",)
    show_facets = admin.ShowFacets.NEVER

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(level=StoredBehaviour.Level.SITE)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        for problem in find_file_problems():
            messages.warning(request, f"File {problem}")
        title = {"title": "Behaviours of the site"}
        return super().changelist_view(request, title | (extra_context or {}))

    @admin.display(description="Behaviour")
    def link(self, row: StoredBehaviour) -> str:
        return format_html('<a href="{}">{}</a>', reverse("behaviour", args=[row.pk]), row.name)
