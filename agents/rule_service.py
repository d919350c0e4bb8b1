"""Rules as people change them: who may, what is refused, and that nothing is lost when two change
one at once."""

from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule, RuleMode
from agents.models import ControlMode, ControlSwitch, RuleState, SettingChange, StoredRule
from agents.projects.errors import ProjectRefused
from agents.projects.queries import ARCHIVED_MESSAGE, Role, get_project
from agents.rule_listing import RULES, ListedRule
from agents.runtime import list_rules
from agents.stored_texts import TextLocked, TextRefused, clean_text
from agents.tools import registry

Level = StoredRule.Level


def check_rule(text: str) -> Rule:
    """Read a text that somebody writes. Raises InvalidToml with all problems."""
    return read_rule(text, tools=registry.names())


def create_rule(
    user: User, text: str, *, level: str = Level.OWN, project_id: UUID | str | None = None
) -> StoredRule:
    """Store a new rule, which is on unless its text says otherwise. Raises InvalidToml."""
    owner = _find_owner(user, level, project_id)
    text = clean_text(text)
    rule = check_rule(text)
    _check_files(user, level, rule.id)
    said = f"{rule.id}: {rule.mode}"
    return RULES.create(user, owner, said, name=rule.id, text=text, mode=rule.mode)


def change_rule(user: User, listed: ListedRule, text: str, version: int | None) -> StoredRule:
    """Store another text for a rule; its mode stays. `version` is the one that the person saw."""
    row = _require_row(listed)
    text = clean_text(text)
    rule = check_rule(text)
    if rule.id != row.name:
        _check_files(user, row.level, rule.id)
    values = {"name": rule.id, "text": text, "changed_by": user}
    with transaction.atomic():
        changed = _update(user, row, version, f"{rule.id}: changed", **values)
        if changed.name != row.name:
            _forget(row)
    return changed


def switch_rule(user: User, listed: ListedRule, mode: str) -> ListedRule:
    """Switch a rule on, off or to shadow, for the runs that begin from now on."""
    if mode not in ControlMode.values:
        raise TextRefused(f"A rule is {', '.join(ControlMode.values)}.")
    _require_unlocked(listed)
    said = f"{listed.name}: {mode}"
    row = _update(user, listed.row, None, said, mode=mode) if listed.row else None
    if row is None:
        _switch_shipped(user, listed, mode)
    rule = listed.rule and replace(listed.rule, mode=cast(RuleMode, mode))
    return replace(listed, mode=cast(RuleMode, mode), rule=rule, row=row)


@transaction.atomic
def delete_rule(user: User, listed: ListedRule) -> None:
    row = _require_row(listed)
    RULES.delete(user, row, f"{row.name}: {row.mode}")
    _forget(row)


def _find_owner(user: User, level: str, project_id: UUID | str | None) -> dict[str, Any]:
    """Return the columns that say whose a rule is, or refuse it."""
    if (owner := RULES.get_owner(user, level)) is not None:
        return owner
    if level != Level.PROJECT or project_id is None:
        raise TextRefused("Say whether the rule is for yourself, for a project or for the site.")
    project = get_project(user, project_id, at_least=Role.OWNER)
    if project.is_archived:
        raise ProjectRefused(ARCHIVED_MESSAGE)
    return {"level": level, "project": project}


def _check_files(user: User, level: object, name: str) -> None:
    """Refuse an id for the site that a file of the operator's has: that one would hold."""
    files = [entry.rule.id for entry in list_rules(user, None) if entry.file]
    if level == Level.SITE and name in files:
        raise RULES.refuse_name(name)


def _require_unlocked(listed: ListedRule) -> None:
    if listed.lock == ARCHIVED_MESSAGE:
        raise TextRefused(listed.lock)
    if listed.lock:
        raise TextLocked(listed.lock)


def _require_row(listed: ListedRule) -> StoredRule:
    _require_unlocked(listed)
    if listed.row is None:
        origin = "a package" if listed.package else "Oracle"
        raise TextLocked(f"It comes with {origin}: it can be switched, not changed.")
    return listed.row


def _update(
    user: User, row: StoredRule, version: int | None, said: str, **values: Any
) -> StoredRule:
    return RULES.update(user, row, version, (f"{row.name}: {row.mode}", said), **values)


def _forget(row: StoredRule) -> None:
    """Delete what a rule remembers that is gone, or has another id now."""
    kept = RuleState.objects.filter(rule=f"{row.level}:{row.name}")
    owner = {"user": row.user_id, "project": row.project_id}
    kept.filter(**{name: key for name, key in owner.items() if key is not None}).delete()


@transaction.atomic
def _switch_shipped(user: User, listed: ListedRule, mode: str) -> None:
    chosen = {"mode": mode, "changed_at": timezone.now()}
    ControlSwitch.objects.update_or_create(
        user=user, kind=ControlSwitch.Kind.RULE, name=listed.name, defaults=chosen
    )
    old, new = f"{listed.name}: {listed.mode}", f"{listed.name}: {mode}"
    SettingChange.objects.create(user=user, by=user, name=RULES.noun, old=old, new=new)
