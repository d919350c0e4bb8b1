"""Load what controls a run: subscribers, rules of all levels, switches, and their stored state.

One loader for runs and pages. Rows are read for every run, so that several hosts agree; texts are
parsed once.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Case, IntegerField, Q, Value, When
from django.utils import timezone

from agents.core.control.toml import InvalidToml
from agents.core.loop import AskMode, Control, KeptReminder, choose_strictest
from agents.core.notify import Subscriber, read_subscriber
from agents.core.notify.packaged import PACKAGED as PACKAGED_SUBSCRIBERS
from agents.core.notify.shipped import LOOP, SHIPPED, read_shipped_text
from agents.core.rules.packaged import PACKAGED as PACKAGED_RULES
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule, RuleLevel, RuleMode
from agents.core.rules.shipped import read_shipped_texts
from agents.models import (
    ControlSwitch,
    Note,
    NotificationSettings,
    Project,
    Reminder,
    StoredRule,
    StoredSubscriber,
)
from agents.runtime.behaviours import BEHAVIOUR_FILES
from agents.runtime.control_rows import load_control_rows
from agents.runtime.site_files import FileProblem, SiteFolder, find_twins
from agents.tools.catalogue import TOOLS

logger = logging.getLogger(__name__)
REMINDERS = "reminders"
"""The subscriber that people switch with their reminders."""
MAX_REMINDERS = 5
"""That a run is told."""
RULE_FILES = SiteFolder("rules", lambda text: read_rule(text, tools=TOOLS.names()))
SUBSCRIBER_FILES = SiteFolder("subscribers", read_subscriber)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleEntry:
    """A rule with the mode that is in force for somebody, and where it comes from."""

    rule: Rule
    text: str
    file: str = ""
    """If it is a file of the operator's; pages only show it."""
    is_packaged: bool = False
    row: StoredRule | None = None

    @property
    def is_locked(self) -> bool:
        """Whether those whose runs it holds for cannot switch it off."""
        return self.rule.is_binding


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriberEntry:
    """A subscriber, whether it speaks in somebody's runs, and where it comes from."""

    subscriber: Subscriber
    text: str
    is_on: bool = True
    file: str = ""
    row: StoredSubscriber | None = None

    @property
    def is_locked(self) -> bool:
        return self.subscriber.core


def load_control(user: User, project: Project, conversation_key: UUID | None = None) -> Control:
    """Return what a run that begins now is held to."""
    rows = load_control_rows(user, project)
    rules = [
        entry
        for entry in _combine_rules(rows.rules, rows.switches["rule"])
        if entry.rule.mode != "off"
    ]
    subscribers = [
        entry
        for entry in _combine_subscribers(rows.subscribers, rows.switches["subscriber"])
        if entry.is_on and not entry.subscriber.is_said_by_loop
    ]
    keeps = rows.keeps_reminders
    return Control(
        subscribers=tuple(entry.subscriber for entry in subscribers),
        rules=tuple(entry.rule for entry in rules),
        states={
            each.rule.key: rows.states[each.rule.key]
            for each in rules
            if each.rule.key in rows.states
        },
        asks=_find_asking_tools(rows.asks),
        reminders=tuple(_list_reminders(user, project, conversation_key)) if keeps else (),
        keeps_reminders=keeps,
        note_count=_count_notes(project) if any(each.rule.reads_notes for each in rules) else 0,
        digest=_build_digest(rules, subscribers),
    )


def _find_asking_tools(wishes: Iterable[AskMode]) -> dict[str, AskMode]:
    """Return when tools ask: as the tool says and, of those that write, as person and owners want
    it. The strictest holds."""
    wanted = choose_strictest("never", *wishes)
    modes = {
        name: choose_strictest(tool.asks, wanted) if tool.writes else tool.asks
        for name, tool in TOOLS
    }
    return {name: mode for name, mode in modes.items() if mode != "never"}


# -- rules ----------------------------------------------------------------------------------------


def list_rules(user: User, project: Project | None) -> list[RuleEntry]:
    """Return the rules that hold for somebody's runs in a project, also those that are off."""
    holds = Q(level="site") | Q(level="own", user=user)
    if project is not None:
        holds |= Q(level="project", project=project)
    rows = StoredRule.objects.filter(holds).select_related("changed_by")
    return _combine_rules(rows, _load_switches(user, ControlSwitch.Kind.RULE))


def _combine_rules(rows: Iterable[StoredRule], switches: Mapping[str, str]) -> list[RuleEntry]:
    found = {}
    for entry in _iter_rules(rows):
        if entry.rule.key in found:
            _warn_of_twins("rules", entry.rule.key)
            continue
        mode = switches.get(entry.rule.id) if entry.rule.level == "shipped" else None
        found[entry.rule.key] = _with_mode(entry, mode) if mode else entry
    return list(found.values())


def _iter_rules(rows: Iterable[StoredRule]) -> Iterator[RuleEntry]:
    for text in read_shipped_texts():
        yield RuleEntry(rule=parse_rule(text), text=text)
    for _, package in PACKAGED_RULES:
        yield RuleEntry(rule=package.rule, text=package.text, is_packaged=True)
    for file in RULE_FILES.load():
        rule = _place_rule(file.value, "site", file.value.mode)
        yield RuleEntry(rule=rule, text=file.text, file=file.path)
    for row in rows:
        try:
            rule = parse_rule(row.text)
        except InvalidToml as error:  # an earlier version of Oracle took it
            logger.warning("the %s rule %s is left out: %s", row.level, row.name, error)
            continue
        level, mode = cast(RuleLevel, row.level), cast(RuleMode, row.mode)
        yield RuleEntry(rule=_place_rule(rule, level, mode), text=row.text, row=row)


def _with_mode(entry: RuleEntry, mode: str) -> RuleEntry:
    rule = _place_rule(entry.rule, entry.rule.level, cast(RuleMode, mode))
    return replace(entry, rule=rule)


@lru_cache(maxsize=2_048)
def _place_rule(rule: Rule, level: RuleLevel, mode: RuleMode) -> Rule:
    """Return a rule of this level and mode: for the same one the same, as runs keep by their rules
    who listens to what."""
    return replace(rule, level=level, mode=mode)


@lru_cache(maxsize=2_048)
def parse_rule(text: str) -> Rule:
    """Read a rule, or raise InvalidToml. What was read once is kept."""
    return read_rule(text)


@lru_cache(maxsize=512)
def _warn_of_twins(what: str, name: str) -> None:
    """Say it once in a process, not at every run."""
    logger.warning("there are two %s %s; the first one holds", what, name)


# -- subscribers ----------------------------------------------------------------------------------


def list_subscribers(user: User | None) -> list[SubscriberEntry]:
    """Return all subscribers, as they are switched for somebody."""
    switches = _load_switches(user, ControlSwitch.Kind.SUBSCRIBER) if user else {}
    rows = StoredSubscriber.objects.select_related("changed_by")
    entries = _combine_subscribers(rows, switches)
    keeps = user is not None and keeps_reminders(user)
    return [
        replace(entry, is_on=keeps) if entry.subscriber.id == REMINDERS else entry
        for entry in entries
    ]


def keeps_reminders(user: User) -> bool:
    """Return whether somebody's runs may keep reminders, and are told those that were kept."""
    return NotificationSettings.objects.filter(user=user, keeps_reminders=True).exists()


def _combine_subscribers(
    rows: Iterable[StoredSubscriber], switches: Mapping[str, str]
) -> list[SubscriberEntry]:
    found: dict[str, SubscriberEntry] = {}
    for entry in _iter_subscribers(rows):
        name = entry.subscriber.id
        if name in found:
            _warn_of_twins("subscribers", name)
        elif name in switches and not entry.is_locked:
            found[name] = replace(entry, is_on=switches[name] == "on" and entry.is_on)
        else:
            found[name] = entry
    return list(found.values())


def _iter_subscribers(rows: Iterable[StoredSubscriber]) -> Iterator[SubscriberEntry]:
    for subscriber in (*LOOP.values(), *SHIPPED):
        yield SubscriberEntry(subscriber=subscriber, text=read_shipped_text(subscriber.id))
    for _, package in PACKAGED_SUBSCRIBERS:
        yield SubscriberEntry(subscriber=package.subscriber, text=package.text)
    for file in SUBSCRIBER_FILES.load():
        yield SubscriberEntry(subscriber=file.value, text=file.text, file=file.path)
    for row in rows:
        try:
            subscriber = parse_subscriber(row.text)
        except InvalidToml as error:
            logger.warning("the subscriber %s is left out: %s", row.name, error)
            continue
        yield SubscriberEntry(subscriber=subscriber, text=row.text, is_on=row.is_on, row=row)


@lru_cache(maxsize=512)
def parse_subscriber(text: str) -> Subscriber:
    """Read a subscriber, or raise InvalidToml. What was read once is kept."""
    return read_subscriber(text)


# -- what is known from before --------------------------------------------------------------------


def _load_switches(user: User, kind: str) -> dict[str, str]:
    found = ControlSwitch.objects.filter(user=user, kind=kind)
    return dict(found.values_list("name", "mode"))


def _list_reminders(
    user: User, project: Project, conversation_key: UUID | None
) -> list[KeptReminder]:
    here = Q(conversation_key=None) | Q(conversation_key=conversation_key)
    waiting = Reminder.objects.filter(
        here,
        Q(project=None) | Q(project=project),
        user=user,
        used_by=None,
        used_at=None,
        expires_at__gt=timezone.now(),
    )
    ranks = [When(priority=name, then=Value(at)) for at, name in enumerate(Reminder.Priority)]
    rank = Case(*ranks, default=Value(len(ranks)), output_field=IntegerField())
    rows = waiting.order_by(rank, "kept_at", "pk")[:MAX_REMINDERS]
    return [KeptReminder(row.pk, row.text, row.category, row.priority) for row in rows]


def _count_notes(project: Project) -> int:
    return Note.objects.filter(project=project, deleted_at__isnull=True).count()


def _build_digest(rules: list[RuleEntry], subscribers: list[SubscriberEntry]) -> str:
    known = hashlib.sha256()
    for entry in rules:
        known.update(f"{entry.rule.key} {entry.rule.mode} {entry.text}\0".encode())
    for one in subscribers:
        known.update(f"{one.subscriber.id} {one.text}\0".encode())
    return known.hexdigest()[:16]


def find_file_problems() -> list[FileProblem]:
    """Return what is wrong with the operator's files, each with its place."""
    folders: tuple[SiteFolder[Any], ...] = (RULE_FILES, SUBSCRIBER_FILES, BEHAVIOUR_FILES)
    spoken = {one.id: "a shipped subscriber" for one in (*LOOP.values(), *SHIPPED)}
    spoken |= dict.fromkeys((name for name, _ in PACKAGED_SUBSCRIBERS), "a package's subscriber")
    return [
        *(problem for folder in folders for problem in folder.find_problems()),
        *find_twins(RULE_FILES.load(), "rule", {}),
        *find_twins(SUBSCRIBER_FILES.load(), "subscriber", spoken),
    ]
