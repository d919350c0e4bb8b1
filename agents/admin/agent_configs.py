"""Everybody's agent configuration in the admin: only to read, with what was changed when.

The list is one of people: whoever has set nothing has the defaults, and no row of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.urls import URLPattern

from agents.admin.base import ReadOnlyAdmin
from agents.admin.permissions import VIEW_PERMISSION, require_permissions
from agents.core.config import LIMITS
from agents.models import SettingChange, UserAgentConfig

MODE = "default_tree"
SETTING_NAMES = (*LIMITS, MODE)
PAGE_SIZE = 50
MAX_ID = 2**63 - 1


def get_user_config(user: User) -> UserAgentConfig:
    """Return somebody's configuration; without storing them, the defaults if they set none."""
    found: UserAgentConfig | None = getattr(user, "useragentconfig", None)
    return found or UserAgentConfig(user=user)


def _build_customised_condition() -> Q:
    """Build the condition for people with a limit or a mode that is not the default."""
    condition = Q()
    for name in SETTING_NAMES:
        default = LIMITS[name].default if name in LIMITS else ""
        condition |= ~Q(**{f"useragentconfig__{name}": default})
    return Q(useragentconfig__isnull=False) & condition


class LimitsFilter(SimpleListFilter):
    title = "limits"
    parameter_name = "limits"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("own", "Changed"), ("default", "All at their defaults")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case None:
                return queryset
            case "own":
                return queryset.filter(_build_customised_condition())
            case "default":
                return queryset.exclude(_build_customised_condition())
        raise IncorrectLookupParameters(self.value())


def _build_limit_column(name: str) -> Callable[[User], str]:
    @admin.display(description=LIMITS[name].label, ordering=f"useragentconfig__{name}")
    def column(user: User) -> str:
        return f"{getattr(get_user_config(user), name):,}"

    return column


@admin.register(UserAgentConfig)
class ConfigAdmin(ReadOnlyAdmin):
    list_display = ("person", "changed", "mode", *(_build_limit_column(name) for name in LIMITS))
    list_display_links = ("person",)
    list_filter = (LimitsFilter,)
    list_per_page = PAGE_SIZE
    search_fields = ("username",)
    show_facets = admin.ShowFacets.NEVER

    def get_urls(self) -> list[URLPattern]:
        page = self.build_url("<int:object_id>/change/", self.change_view, "change")
        return [*super().get_urls(), page]

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Allow whoever may see runs: those show limits of the past, these are the next."""
        return request.user.has_perm(VIEW_PERMISSION)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return User.objects.select_related("useragentconfig")

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return ("username",)

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        return queryset.filter(username__icontains=search_term.strip()), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        told = {"title": "Agent configurations", "search_help": "User name, or a part of it"}
        return super().changelist_view(request, {**told, **(extra_context or {})})

    def change_view(
        self,
        request: HttpRequest,
        object_id: Any,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one person's configuration and its changes, newest first."""
        require_permissions(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        user = self.get_queryset(request).filter(pk=min(object_id, MAX_ID)).first()
        if user is None:
            raise Http404("There is no such user.")
        site = self.admin_site.each_context(request)
        context = {**site, **page_context(user, request.GET.get("page", ""))}
        return TemplateResponse(request, "admin/agents/useragentconfig/person.html", context)

    # -- columns ----------------------------------------------------------------------------------

    @admin.display(description="User", ordering="username")
    def person(self, user: User) -> str:
        return user.get_username()

    @admin.display(description="Mode")
    def mode(self, user: User) -> str:
        return get_user_config(user).tree

    @admin.display(description="Last saved (UTC)", ordering="useragentconfig__updated_at")
    def changed(self, user: User) -> str:
        row = get_user_config(user)
        return f"{row.updated_at:%Y-%m-%d %H:%M}" if row.version > 1 else "never"


def page_context(user: User, page: str) -> dict[str, Any]:
    """Return what the page of a person shows, with changes of these settings alone."""
    row = get_user_config(user)
    changes = SettingChange.objects.filter(user=user, name__in=SETTING_NAMES).select_related("by")
    return {
        "title": f"Agent configuration of {user.get_username()}",
        "person": user,
        "config": row,
        "limits": [(limit, getattr(row, name)) for name, limit in LIMITS.items()],
        "page": (shown := Paginator(changes, PAGE_SIZE).get_page(page)),
        "changes": [ConfigChange(change) for change in shown],
    }


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A recorded change, in words."""

    row: SettingChange

    @property
    def label(self) -> str:
        return LIMITS[self.row.name].label if self.row.name in LIMITS else "Mode"

    @property
    def old(self) -> str:
        return _display_value(self.row.old)

    @property
    def new(self) -> str:
        return _display_value(self.row.new)

    @property
    def by(self) -> str:
        return self.row.by.get_username() if self.row.by else "deleted user"


def _display_value(value: str) -> str:
    if value.isascii() and value.isdecimal():
        return f"{int(value):,}"
    return value or "the site's default"
