"""Projects in the admin: who is in them, whatever their owners do. What is in them is not shown.

Changes go through the same services as everywhere, so runs end and the audit knows of it.
"""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from agents.admin.base import Base
from agents.models import Membership, Project
from agents.projects import members, services
from agents.projects.errors import ProjectError
from agents.web.requests import get_user

if TYPE_CHECKING:
    Inline = admin.TabularInline[Any, Any]
    ProjectModelForm = forms.ModelForm[Project]
    MemberModelForm = forms.ModelForm[Membership]
else:
    Inline = admin.TabularInline
    ProjectModelForm = MemberModelForm = forms.ModelForm


class ProjectForm(ProjectModelForm):
    def clean_name(self) -> str:
        try:
            return services.clean_name(self.cleaned_data["name"])
        except ProjectError as error:
            raise ValidationError(str(error)) from None


class MemberForm(MemberModelForm):
    """People are named, not chosen from a list that may have thousands."""

    username = forms.CharField(max_length=150)

    class Meta:
        model = Membership
        fields = ("role",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.fields["username"].disabled = True
            self.initial["username"] = self.instance.user.username

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if self.instance._state.adding:
            try:
                self.instance.user = members.find_person(name)
            except ProjectError as error:
                raise ValidationError(str(error)) from None
        return name


class MemberInline(Inline):
    model = Membership
    form = MemberForm
    fields = ("username", "role")
    extra = 1
    verbose_name_plural = "people"


@admin.register(Project)
class ProjectAdmin(Base):
    form = ProjectForm
    fields = ("name", "slug", "created_at", "archived_at", "deleted_at", "is_sample")
    readonly_fields = ("slug", "created_at", "archived_at", "deleted_at", "is_sample")
    list_display = ("name", "slug", "state", "people", "created_at")
    search_fields = ("name", "slug")
    inlines = (MemberInline,)
    actions = None
    list_max_show_all = 0

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # people create their own, or `manage.py projects create`

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # an owner's to undo: `manage.py projects delete`

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        known: QuerySet[Project] = super().get_queryset(request).exclude(name="")
        return known.annotate(people_count=Count("memberships"))

    def save_model(self, request: HttpRequest, obj: Project, form: Any, change: bool) -> None:
        if "name" in form.changed_data:
            services.rename_project(obj, obj.name, by=get_user(request))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        by = get_user(request)
        for member in formset.save(commit=False):
            act = members.change_role if member.pk else members.add_member
            self._apply(
                request, act, member.project, member.user, Membership.Role(member.role), by=by
            )
        for member in formset.deleted_objects:
            self._apply(request, members.remove_member, member.project, member.user, by=by)

    def _apply(self, request: HttpRequest, act: Any, *args: Any, **kwargs: Any) -> None:
        try:
            act(*args, **kwargs)
        except ProjectError as error:
            messages.error(request, str(error))

    @admin.display(description="People", ordering="people_count")
    def people(self, project: Any) -> int:
        return int(project.people_count)

    @admin.display(description="State")
    def state(self, project: Project) -> str:
        return "deleted" if project.deleted_at else "archived" if project.archived_at else "open"
