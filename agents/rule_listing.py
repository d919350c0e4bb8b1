"""Rules as people see them: all that can hold for their runs, and why they cannot change one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q

from agents.core.control.toml import InvalidToml
from agents.core.rules.rule import Rule, RuleLevel, RuleMode
from agents.models import Project, StoredRule
from agents.projects.queries import ARCHIVED_MESSAGE, managed_projects_for, projects_for
from agents.runtime import list_rules, parse_rule
from agents.stored_texts import ListedText, TextKind

RULES = TextKind("rule", "id", StoredRule.objects.select_related("project", "changed_by"))
Level = StoredRule.Level
SITE_LOCK = "It is the site's: only staff can change or switch it."
FILE_LOCK = "It is one of the operator's files: it can be read here, not changed."


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRule(ListedText):
    """A rule as somebody sees it. One that can no longer be read has a text, and no `rule`. Who
    cannot change it cannot switch it either."""

    level: RuleLevel
    mode: RuleMode
    rule: Rule | None
    row: StoredRule | None = None
    package: bool = False
    """Whether a package has brought it."""
    note: str = ""
    """Why it is not in force, whatever its mode; empty if it is."""

    @property
    def key(self) -> str:
        """What a run's record calls it."""
        return f"{self.level}:{self.name}"

    @property
    def firing_key(self) -> tuple[str, UUID | None]:
        """Tell it from the rules of other projects with the same id."""
        return self.key, self.row.project_id if self.row else None

    @property
    def title(self) -> str:
        return self.rule.name if self.rule else self.name

    @property
    def can_switch(self) -> bool:
        return not self.lock

    @property
    def project(self) -> Project | None:
        return self.row.project if self.row else None


def list_rules_for(user: User) -> list[ListedRule]:
    """Return all rules that can hold for a person's runs, in any of their projects."""
    files = [entry for entry in list_rules(user, None) if entry.row is None]
    found = [
        ListedRule(
            id=f"{'file' if entry.file else 'shipped'}:{entry.rule.id}",
            name=entry.rule.id,
            level=entry.rule.level,
            mode=entry.rule.mode,
            text=entry.text,
            rule=entry.rule,
            file=entry.file,
            package=entry.is_packaged,
            lock=FILE_LOCK if entry.file else "",
        )
        for entry in files
    ]
    return [*found, *_list_rows(user, {entry.rule.id: entry.file for entry in files if entry.file})]


def get_rule(user: User, rule_id: str) -> ListedRule:
    return RULES.pick(list_rules_for(user), rule_id)


def _list_rows(user: User, files: Mapping[str, str]) -> Iterator[ListedRule]:
    """Yield the stored ones. Of the site's, `files` of the operator go before them, by id."""
    mine = managed_projects_for(user).values_list("pk", flat=True)
    managed, is_site_author = set(mine), RULES.may_write_site(user)
    seen = Q(level=Level.SITE) | Q(user=user) | Q(project__in=projects_for(user).values("pk"))
    for row in RULES.rows.filter(seen):
        try:
            rule = parse_rule(row.text)
        except InvalidToml:  # an earlier version of Oracle took it
            rule = None
        level, mode = cast(RuleLevel, row.level), cast(RuleMode, row.mode)
        yield ListedRule(
            id=str(row.pk),
            name=row.name,
            level=level,
            mode=mode,
            text=row.text,
            rule=rule and replace(rule, level=level, mode=mode),
            row=row,
            lock=_explain_lock(row, managed, is_site_author=is_site_author),
            note=_explain_twin(row, files),
        )


def _explain_twin(row: StoredRule, files: Mapping[str, str]) -> str:
    if row.level != Level.SITE or row.name not in files:
        return ""
    return f"Not in force: {files[row.name]}, one of the operator's files, has the same id."


def _explain_lock(row: StoredRule, managed: set[UUID], *, is_site_author: bool) -> str:
    if row.level == Level.SITE and not is_site_author:
        return SITE_LOCK
    if row.project is None:
        return ""
    if row.project_id not in managed:
        return f"It is the project's: only an owner of {row.project.name} can change or switch it."
    return ARCHIVED_MESSAGE if row.project.is_archived else ""
