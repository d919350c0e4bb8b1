"""Subscribers that staff write for all runs of the site; what is wrong with one is told by line."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from agents.admin.base import Base
from agents.audit.log import log_action
from agents.core.control.toml import InvalidToml
from agents.models import AuditEntry, StoredSubscriber
from agents.runtime import find_file_problems, list_subscribers, parse_subscriber
from agents.web.requests import get_user

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[StoredSubscriber]
else:
    ModelForm = forms.ModelForm

CHANGED = "Somebody has changed it meanwhile. Nothing was saved: keep your text, and open it again."
EXAMPLE = """[subscriber]
id = "slow-calls"
name = "Slow calls"
description = "Tells you when a call has taken long."

[events]
types = ["tool.call.success"]
when = "event.payload.duration_ms > 20000"

[output]
at = "after_tool"
to = ["user"]
message = "{tool} took {duration_ms:,} ms."
"""


class SubscriberForm(ModelForm):
    text = forms.CharField(
        strip=False,
        widget=forms.Textarea(attrs={"rows": 28, "cols": 90, "spellcheck": "false"}),
        help_text="TOML: docs/notifications.md has all keys.",
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = StoredSubscriber
        fields = ("text", "is_on", "version")

    def clean_text(self) -> str:
        """Check what was written: its problems with their places, and whether its id is free."""
        text: str = self.cleaned_data["text"]
        try:
            found = parse_subscriber(text)
        except InvalidToml as error:
            told = [f"Line {p.line}, column {p.column}: {p.message}" for p in error.problems]
            raise ValidationError(told) from None
        others = StoredSubscriber.objects.exclude(pk=self.instance.pk)  # also such as are broken
        fixed = [entry.subscriber.id for entry in list_subscribers(None) if entry.row is None]
        if found.id in fixed or others.filter(name=found.id).exists():
            raise ValidationError(f"There is another subscriber with the id {found.id}.")
        self.instance.name = found.id
        return text

    def clean_version(self) -> int:
        """Refuse to overwrite what somebody else has changed meanwhile."""
        if self.instance._state.adding:
            return 1
        seen: int = self.cleaned_data.get("version") or 0
        same = StoredSubscriber.objects.filter(pk=self.instance.pk, version=seen)
        if not same.select_for_update().exists():  # whoever saves at the same time waits
            self.add_error(None, CHANGED)  # not to the field: what is hidden shows no errors
        return seen + 1


@admin.register(StoredSubscriber)
class SubscriberAdmin(Base):
    form = SubscriberForm
    list_display = ("name", "is_on", "changed_at", "changed_by")
    actions = None

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """List them, and say what is wrong with the operator's files."""
        for problem in find_file_problems():
            messages.warning(request, f"One of the site's files cannot be read. {problem}")
        return super().changelist_view(request, extra_context)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"text": EXAMPLE}

    def save_model(
        self, request: HttpRequest, obj: StoredSubscriber, form: Any, change: bool
    ) -> None:
        obj.changed_at, obj.changed_by = timezone.now(), get_user(request)
        super().save_model(request, obj, form, change)
        state = "on" if obj.is_on else "off"
        log_action(AuditEntry.Verb.SITE, by=obj.changed_by, subscriber=f"{obj.name}: {state}")

    def delete_model(self, request: HttpRequest, obj: StoredSubscriber) -> None:
        name = obj.name
        super().delete_model(request, obj)
        log_action(AuditEntry.Verb.SITE, by=get_user(request), subscriber=f"{name}: deleted")
