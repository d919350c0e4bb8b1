"""What nobody can add, change or delete through the admin, superusers included."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import ERROR_FLAG, ORDER_VAR, PAGE_VAR, SEARCH_VAR
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path

from agents.admin.error_pages import show_damage_page

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin

LIST_PARAMS = {SEARCH_VAR, ORDER_VAR, PAGE_VAR, ERROR_FLAG, "_facets"}
"""Parameters of every list, besides its filters."""


class ReadOnlyAdmin(Base):
    """A list and nothing else. What its address may say is what the list offers, no field more:
    Django would filter by any column, and so answer questions about what may not be read."""

    actions = None
    list_display_links: Any = None
    list_max_show_all = 0
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        return [self.build_url("", self.changelist_view, "changelist")]

    def build_url(self, route: str, view: Any, name: str) -> URLPattern:
        named = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        guarded: Any = self.admin_site.admin_view(show_damage_page(view))
        found: URLPattern = path(route, guarded, name=named)
        return found

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Count the right to view alone: a right to change would promise what is not there."""
        return request.user.has_perm(f"{self.opts.app_label}.view_{self.opts.model_name}")

    def allowed_parameters(self) -> set[str]:
        filters: Any = self.list_filter
        return LIST_PARAMS | {one.parameter_name for one in filters}

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup in self.allowed_parameters()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        asked = set(request.GET)
        if asked - self.allowed_parameters() or (ERROR_FLAG in asked and asked != {ERROR_FLAG}):
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")
        more = {"misunderstood": ERROR_FLAG in asked, **(extra_context or {})}
        return super().changelist_view(request, more)
