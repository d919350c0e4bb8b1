"""Read the rows that control a run, in one statement, because every run starts with it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from django.contrib.auth.models import User
from django.db import connection

from agents.core.loop import AskMode
from agents.models import ControlSwitch, Project, StoredRule, StoredSubscriber

_STATEMENT = """
    SELECT 'switch', kind, name, mode, '' FROM agents_controlswitch WHERE user_id = %s
    UNION ALL
    SELECT 'rule', level, name, mode, text FROM agents_storedrule
    WHERE level = 'site' OR user_id = %s OR project_id = %s
    UNION ALL
    SELECT 'subscriber', '', name, CASE WHEN is_on THEN 'on' ELSE 'off' END, text
    FROM agents_storedsubscriber
    UNION ALL
    SELECT 'state', rule, key, '', CAST(value AS text) FROM agents_rulestate
    WHERE user_id = %s AND project_id = %s
    UNION ALL
    SELECT 'reminders', '', '', '', '' FROM agents_notificationsettings
    WHERE user_id = %s AND keeps_reminders
    UNION ALL
    SELECT 'asks', '', '', ask_before_writing, '' FROM agents_useragentconfig WHERE user_id = %s
    UNION ALL
    SELECT 'asks', '', '', ask_before_writing, '' FROM agents_project WHERE id = %s
"""


@dataclass(slots=True)
class ControlRows:
    """What is stored for somebody's runs in a project."""

    rules: list[StoredRule] = field(default_factory=list)
    subscribers: list[StoredSubscriber] = field(default_factory=list)
    switches: Mapping[str, dict[str, str]] = field(
        default_factory=lambda: {kind: {} for kind in ControlSwitch.Kind.values}
    )
    """By kind, then by name: the mode."""
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the rule's key, then by the value's."""
    keeps_reminders: bool = False
    asks: list[AskMode] = field(default_factory=list)
    """When tools that write ask, as the person and the project's owners want it."""


def load_control_rows(user: User, project: Project) -> ControlRows:
    """Read all of them. The rules and subscribers have only what runs need."""
    place = Project._meta.pk.get_db_prep_value(project.pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(
            _STATEMENT, [user.pk, user.pk, place, user.pk, place, user.pk, user.pk, place]
        )
        found = sorted(cursor.fetchall())  # as pages list them: by level, then by name
    rows = ControlRows()
    for source, group, name, mode, text in found:
        match source:
            case "switch":
                rows.switches[group][name] = mode
            case "rule":
                rows.rules.append(StoredRule(level=group, name=name, mode=mode, text=text))
            case "subscriber":
                is_on = mode == "on"
                rows.subscribers.append(StoredSubscriber(name=name, is_on=is_on, text=text))
            case "state":
                rows.states.setdefault(group, {})[name] = json.loads(text or "null")
            case "asks":
                rows.asks.append(cast(AskMode, mode))
            case "reminders":
                rows.keeps_reminders = True
    return rows
