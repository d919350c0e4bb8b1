"""Export of what is stored about a user besides conversations. Secrets are not in it."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from agents.models import (
    ApiToken,
    Appearance,
    ApprovalRequest,
    BehaviourText,
    ControlSwitch,
    ModelSettings,
    NotificationSettings,
    ProviderSettings,
    Reminder,
    RuleState,
    SettingChange,
    StoredBehaviour,
    StoredRule,
    ThreadEntry,
)
from agents.models.settings import UserAgentConfig, UserSettings
from agents.projects.queries import projects_for, runs_for
from agents.run_serializer import ENDING_FIELDS, TIME_FIELDS, TOKEN_FIELDS, serialize_run
from agents.web.formatting import format_timestamp

BATCH_SIZE = 50
SETTINGS_CLASSES: dict[str, type[UserSettings]] = {
    "agent": UserAgentConfig,
    "models": ModelSettings,
    "appearance": Appearance,
    "notifications": NotificationSettings,
}
RUN_FIELDS = (
    "id", "conversation", "continued_from", "question", "answer", "explanation",
    "tree", "behaviour", "model", "config", *ENDING_FIELDS, "error", "turns", "tool_calls",
    *TOKEN_FIELDS, *TIME_FIELDS,
)  # fmt: skip


def serialize_profile(user: User) -> dict[str, Any]:
    return {
        "format": "oracle.everything",
        "version": 1,
        "exported_at": format_timestamp(datetime.now(UTC)),
        "user": {
            "username": user.get_username(),
            "name": user.get_full_name(),
            "email": user.email,
            "joined_at": format_timestamp(user.date_joined),
        },
        "settings": {
            name: _serialize_settings(kind.for_user(user))
            for name, kind in SETTINGS_CLASSES.items()
        },
        "other_providers": [
            {"provider": row.provider, "base_url": row.base_url}
            for row in ProviderSettings.objects.filter(user=user).order_by("provider")
        ],
    }


def _serialize_settings(row: UserSettings) -> dict[str, Any]:
    """Return those that forms may change: what is sealed is not among them."""
    return {
        column.name: getattr(row, column.name)
        for column in row._meta.concrete_fields
        if column.editable and not column.primary_key and column.name != "user"
    }


def iter_changes(user: User) -> Iterator[dict[str, Any]]:
    own = SettingChange.objects.filter(user=user)
    for batch in _iter_batches(list(own.order_by("pk").values_list("pk", flat=True))):
        for row in own.filter(pk__in=batch).select_related("by").order_by("pk"):
            by = row.by.get_username() if row.by else None
            old_and_new = {"old": row.old, "new": row.new}
            yield {"name": row.name, **old_and_new, "by": by, "at": format_timestamp(row.at)}


def iter_tokens(user: User) -> Iterator[dict[str, Any]]:
    for token in ApiToken.objects.filter(user=user).order_by("pk"):
        yield {
            "name": token.name,
            "beginning": token.beginning,
            "scopes": token.scopes,
            "created_at": format_timestamp(token.created_at),
            "last_used_at": format_timestamp(token.last_used_at),
            "revoked_at": format_timestamp(token.revoked_at),
        }


def iter_runs(user: User) -> Iterator[dict[str, Any]]:
    """Also those of the terminal and of programs, which no conversation has."""
    own = runs_for(user)
    for batch in _iter_batches(list(own.order_by("started_at", "pk").values_list("pk", flat=True))):
        rows = own.in_bulk(batch)
        yield from (serialize_run(rows[pk], RUN_FIELDS) for pk in batch if pk in rows)


def iter_entries(user: User) -> Iterator[dict[str, Any]]:
    """Yield what they wrote to threads, or had written; of what was withdrawn, only that it was."""
    own = ThreadEntry.objects.filter(
        user=user, thread__project__in=projects_for(user).values("pk")
    ).order_by("pk")
    for batch in _iter_batches(list(own.values_list("pk", flat=True))):
        rows = own.filter(pk__in=batch).select_related("thread__project")
        yield from map(_serialize_entry, rows)


def iter_rules(user: User) -> Iterator[dict[str, Any]]:
    """Yield the rules that they wrote for their own runs."""
    for row in StoredRule.objects.filter(user=user).order_by("pk"):
        yield {
            "name": row.name,
            "mode": row.mode,
            "text": row.text,
            "changed_at": format_timestamp(row.changed_at),
        }


def iter_behaviours(user: User) -> Iterator[dict[str, Any]]:
    """Yield the behaviours that they wrote for their own questions."""
    for row in StoredBehaviour.objects.filter(user=user).order_by("pk"):
        changed_at = format_timestamp(row.changed_at)
        yield {"name": row.name, "text": row.text, "changed_at": changed_at}


def iter_behaviour_texts(user: User) -> Iterator[dict[str, Any]]:
    """Yield what drove their runs, each text once, also where nobody has it any more. A run whose
    behaviour's name was erased has no part in it."""
    driven = runs_for(user).exclude(behaviour="").order_by("behaviour_digest")
    used = dict(driven.values_list("behaviour_digest", "behaviour").distinct())
    for row in BehaviourText.objects.filter(pk__in=used).order_by("pk").iterator():
        yield {"name": used[row.pk], "text": row.text}


def iter_switches(user: User) -> Iterator[dict[str, Any]]:
    for row in ControlSwitch.objects.filter(user=user).order_by("pk"):
        yield {"kind": row.kind, "name": row.name, "mode": row.mode}


def iter_rule_states(user: User) -> Iterator[dict[str, Any]]:
    """Yield what rules remember of their runs."""
    here = projects_for(user).values("pk")
    own = RuleState.objects.filter(user=user, project__in=here).select_related("project")
    for row in own.order_by("pk"):
        yield {"project": row.project.name, "rule": row.rule, "key": row.key, "value": row.value}


def iter_reminders(user: User) -> Iterator[dict[str, Any]]:
    """Yield what runs kept for later ones, also what has been used."""
    here = Q(project=None) | Q(project__in=projects_for(user).values("pk"))
    own = Reminder.objects.filter(here, user=user).select_related("project")
    for row in own.order_by("pk"):
        yield {
            "project": row.project.name if row.project else None,
            "conversation": str(row.conversation_key) if row.conversation_key else None,
            "text": row.text,
            "category": row.category,
            "priority": row.priority,
            "kept_at": format_timestamp(row.kept_at),
            "expires_at": format_timestamp(row.expires_at),
            "used_at": format_timestamp(row.used_at),
        }


def iter_approvals(user: User) -> Iterator[dict[str, Any]]:
    """Yield what their runs have asked them, and what they decided; the calls are in the runs."""
    own = ApprovalRequest.objects.filter(run__in=runs_for(user)).prefetch_related("calls")
    for row in own.order_by("asked_at", "pk"):
        yield {
            "run": str(row.run_id),
            "asked_at": format_timestamp(row.asked_at),
            "decision": row.verdict,
            "words": row.words,
            "decided_at": format_timestamp(row.decided_at),
            "decided_via": row.decided_via,
            "calls": [
                {
                    "id": call.call_id,
                    "name": call.name,
                    "decision": call.verdict,
                    "words": call.words,
                }
                for call in row.calls.all()
            ],
        }


def _serialize_entry(row: ThreadEntry) -> dict[str, Any]:
    return {
        "project": row.thread.project.name,
        "thread": row.thread.name,
        "number": row.number,
        "type": row.kind,
        "text": "" if row.withdrawn_at else row.text,
        "source": row.source,
        "at": format_timestamp(row.at),
        "withdrawn_at": format_timestamp(row.withdrawn_at),
    }


def _iter_batches(keys: list[Any]) -> Iterable[list[Any]]:
    """Yield batches. No cursor stays open between two of them: a reader may be slow."""
    return (keys[start : start + BATCH_SIZE] for start in range(0, len(keys), BATCH_SIZE))
