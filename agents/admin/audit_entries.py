"""The audit's own record in the admin: who opened, exported, stopped and erased what."""

from typing import Any

from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from agents.admin.base import ReadOnlyAdmin
from agents.models import AuditEntry

CLOSE = AuditEntry.Verb.CLOSE


class VerbFilter(SimpleListFilter):
    title = "what was done"
    parameter_name = "verb"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(verb.value, str(verb.label)) for verb in AuditEntry.Verb if verb != CLOSE]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if (verb := self.value()) is None:
            return queryset
        if verb not in AuditEntry.Verb or verb == CLOSE:
            raise IncorrectLookupParameters(verb)
        return queryset.filter(verb=verb)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("when", "who", "what", "of_run", "details")
    list_filter = (VerbFilter,)
    list_per_page = 50
    list_select_related = ("by",)
    show_facets = admin.ShowFacets.NEVER

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return what people did; that runs ended is for the chain."""
        return super().get_queryset(request).exclude(verb=CLOSE)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "Audit entries"} | (extra_context or {}))

    @admin.display(description="When (UTC)")
    def when(self, entry: AuditEntry) -> str:
        return f"{entry.at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="Who")
    def who(self, entry: AuditEntry) -> str:
        if entry.by:
            return entry.by.get_username()
        return "a deleted user" if entry.by_mark else "the server or the command line"

    @admin.display(description="What")
    def what(self, entry: AuditEntry) -> str:
        return entry.get_verb_display()

    @admin.display(description="Run")
    def of_run(self, entry: AuditEntry) -> str:
        return str(entry.run_id or "")

    @admin.display(description="Details")
    def details(self, entry: AuditEntry) -> str:
        detail = entry.detail if isinstance(entry.detail, dict) else {}
        return "; ".join(f"{name}: {_display_detail(value)}" for name, value in detail.items())[
            :500
        ]


def _display_detail(value: Any) -> str:
    """Return the details, without what was searched for: that may be words of a title."""
    if isinstance(value, dict):
        shown = {name: "(some words)" if name == "q" else one for name, one in value.items()}
        return ", ".join(f"{name}={one}" for name, one in shown.items()) or "none"
    return str(value)
