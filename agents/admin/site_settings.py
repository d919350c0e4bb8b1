"""The site's own settings in the admin: what newcomers get, and which hosts models may read."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import ForeignKey
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from agents.admin.base import Base
from agents.audit.log import log_action
from agents.models import AuditEntry, Project, SiteSettings
from agents.tools.web_hosts import WebHosts, WebNotAllowed
from agents.web.requests import get_user

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[SiteSettings]
else:
    ModelForm = forms.ModelForm


class SiteSettingsForm(ModelForm):
    def clean_web_hosts(self) -> str:
        """Return the list as it is compared: each host once, on a line of its own."""
        lines: str = self.cleaned_data["web_hosts"]
        try:
            return "\n".join(sorted(WebHosts.parse(lines).names))
        except WebNotAllowed as error:
            raise ValidationError(str(error)) from None


@admin.register(SiteSettings)
class SiteSettingsAdmin(Base):
    """There is one row: the list leads to it."""

    form = SiteSettingsForm
    fields = ("default_project", "default_role", "web_hosts")
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
        log_action(
            AuditEntry.Verb.SITE,
            by=by,
            default_project=chosen,
            default_role=role,
            web_hosts=", ".join(obj.web_hosts.split()) or "none",
        )
