"""The site's own settings in the admin: what newcomers get."""

from typing import Any

from django.contrib import admin
from django.db.models import ForeignKey
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agents.admin.base import Base
from agents.audit.log import log_action
from agents.models import AuditEntry, Project, SiteSettings
from agents.web.requests import get_user


@admin.register(SiteSettings)
class SiteSettingsAdmin(Base):
    """There is one row: the list leads to it."""

    fields = ("default_project", "default_role")
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if self.has_change_permission(request):
            SiteSettings.objects.get_or_create(pk=1)
            return redirect("admin:agents_sitesettings_change", 1)
        return super().changelist_view(request, extra_context)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Any:
        known = Project.objects.filter(deleted_at__isnull=True)
        return super().formfield_for_foreignkey(db_field, request, **{**kwargs, "queryset": known})

    def save_model(self, request: HttpRequest, obj: SiteSettings, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        chosen = str(obj.default_project_id or "none")
        by, role = get_user(request), obj.default_role
        log_action(AuditEntry.Verb.SITE, by=by, default_project=chosen, default_role=role)
