"""Rules as people change them: who may, what is refused, and that nothing is lost when two change
one at once."""

from dataclasses import replace
from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from agents.audit.log import log_action
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule, RuleMode
from agents.core.sanitize import replace_unstorable
from agents.models import (
    AuditEntry,
    ControlMode,
    ControlSwitch,
    RuleState,
    SettingChange,
    StoredRule,
)
from agents.projects.errors import ProjectRefused
from agents.projects.queries import ARCHIVED_MESSAGE, Role, get_project
from agents.rule_errors import RuleConflict, RuleLocked, RuleNotFound, RuleRefused
from agents.rule_listing import ListedRule, can_write_site_rules
from agents.runtime import list_rules
from agents.tools import registry

MAX_STORED_RULES = 30
"""That one person, one project or the site can have: a run is held to 100 in all."""
TOO_MANY = f"There are {MAX_STORED_RULES} rules here already. Delete one first."
RULE_CHANGE = "rule"
"""What the list of changed settings calls it."""
Level = StoredRule.Level


def check_rule(text: str) -> Rule:
    """Read a text that somebody writes. Raises InvalidToml with all problems."""
    return read_rule(text, tools=registry.names())


def create_rule(
    user: User, text: str, *, level: str = Level.OWN, project_id: UUID | str | None = None
) -> StoredRule:
    """Store a new rule, which is on unless its text says otherwise. Raises InvalidToml."""
    owner = _find_owner(user, level, project_id)
    text = _clean(text)
    rule = check_rule(text)
    _check_files(user, level, rule.id)
    try:
        with transaction.atomic():
            others = StoredRule.objects.filter(**owner)
            list(others.select_for_update().values_list("pk"))  # whoever writes one too waits
            row = StoredRule.objects.create(
                **owner, name=rule.id, text=text, mode=rule.mode, changed_by=user
            )
            if others.count() > MAX_STORED_RULES:
                raise RuleRefused(TOO_MANY)
            _record(user, row, "", f"{row.name}: {row.mode}")
    except IntegrityError:
        raise _taken(rule.id) from None
    return row


def change_rule(user: User, listed: ListedRule, text: str, version: int | None) -> StoredRule:
    """Store another text for a rule; its mode stays. `version` is the one that the person saw."""
    row = _require_row(listed)
    text = _clean(text)
    rule = check_rule(text)
    values = {"name": rule.id, "text": text, "changed_by": user}
    if rule.id != row.name:
        _check_files(user, row.level, rule.id)
    try:
        return _update(user, row, version, f"{rule.id}: changed", **values)
    except IntegrityError:
        raise _taken(rule.id) from None


def switch_rule(user: User, listed: ListedRule, mode: str) -> ListedRule:
    """Switch a rule on, off or to shadow, for the runs that begin from now on."""
    if mode not in ControlMode.values:
        raise RuleRefused(f"A rule is {', '.join(ControlMode.values)}.")
    _require_unlocked(listed)
    said = f"{listed.name}: {mode}"
    row = _update(user, listed.row, None, said, mode=mode) if listed.row else None
    if row is None:
        _switch_shipped(user, listed, mode)
    rule = listed.rule and replace(listed.rule, mode=cast(RuleMode, mode))
    return replace(listed, mode=cast(RuleMode, mode), rule=rule, row=row)


def delete_rule(user: User, listed: ListedRule) -> None:
    row = _require_row(listed)
    with transaction.atomic():
        _record(user, row, f"{row.name}: {row.mode}", "")
        StoredRule.objects.filter(pk=row.pk).delete()
        _forget(row)


def _find_owner(user: User, level: str, project_id: UUID | str | None) -> dict[str, object]:
    """Return the columns that say whose a rule is, or refuse it."""
    if level == Level.SITE:
        if not can_write_site_rules(user):
            raise RuleLocked("Only staff can write rules for the whole site.")
        return {"level": level}
    if level == Level.OWN:
        return {"level": level, "user": user}
    if level != Level.PROJECT or project_id is None:
        raise RuleRefused("Say whether the rule is for yourself, for a project or for the site.")
    project = get_project(user, project_id, at_least=Role.OWNER)
    if project.is_archived:
        raise ProjectRefused(ARCHIVED_MESSAGE)
    return {"level": level, "project": project}


def _check_files(user: User, level: object, name: str) -> None:
    """Refuse an id for the site that a file of the operator's has: that one would hold."""
    files = [entry.rule.id for entry in list_rules(user, None) if entry.file]
    if level == Level.SITE and name in files:
        raise _taken(name)


def _clean(text: str) -> str:
    return replace_unstorable(text.replace("\r\n", "\n"))


def _require_unlocked(listed: ListedRule) -> None:
    if listed.lock == ARCHIVED_MESSAGE:
        raise RuleRefused(listed.lock)
    if listed.lock:
        raise RuleLocked(listed.lock)


def _require_row(listed: ListedRule) -> StoredRule:
    _require_unlocked(listed)
    if listed.row is None:
        origin = "a package" if listed.package else "Oracle"
        raise RuleLocked(f"It comes with {origin}: it can be switched, not changed.")
    return listed.row


def _update(
    user: User, row: StoredRule, version: int | None, said: str, **values: object
) -> StoredRule:
    """Change a row if it is still the version that was seen; None: whatever it is."""
    with transaction.atomic():
        found = StoredRule.objects.filter(pk=row.pk)
        same = found if version is None else found.filter(version=version)
        now = timezone.now()
        if not same.update(version=F("version") + 1, changed_at=now, **values):
            present = found.first()
            raise RuleConflict(present) if present else RuleNotFound("It has been deleted.")
        _record(user, row, f"{row.name}: {row.mode}", said)
        if values.get("name", row.name) != row.name:
            _forget(row)
        return found.select_related("project", "changed_by").get()


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
    SettingChange.objects.create(user=user, by=user, name=RULE_CHANGE, old=old, new=new)


def _record(user: User, row: StoredRule, old: str, new: str) -> None:
    """Record who did what: one's own among one's settings, others' in the audit."""
    if row.level == Level.OWN:
        SettingChange.objects.create(user=user, by=user, name=RULE_CHANGE, old=old, new=new)
        return
    if row.project_id is None:
        log_action(AuditEntry.Verb.SITE, by=user, did="rule", old=old, new=new)
        return
    project = str(row.project_id)
    log_action(AuditEntry.Verb.PROJECT, by=user, did="rule", project=project, old=old, new=new)


def _taken(name: str) -> RuleRefused:
    return RuleRefused(f"There is already a rule {name} here. Give it another id.")
