"""What each setting may be, and what is in force as long as something else was refused."""

import json
from collections.abc import Set

from django.contrib.auth.models import User

from agents.core.config import LIMITS, AgentConfig, ConfigError
from agents.endpoints.model_settings import KEY, SETTING_NAMES, describe_expected
from agents.models import ModelSettings
from agents.settings_service import effective_config

ALL_SETTING_NAMES = frozenset({*LIMITS, *SETTING_NAMES, KEY})


def refusal_messages(user: User, names: Set[str]) -> dict[str, str]:
    """Return a sentence for each of these settings, to refuse a value with."""
    found: dict[str, str] = {}
    if names & LIMITS.keys():
        config = effective_config(user)
        found |= {name: _bounds_message(name, config) for name in names & LIMITS.keys()}
    if KEY in names:
        found[KEY] = describe_expected(KEY)
    if chosen := names & set(SETTING_NAMES):
        row = ModelSettings.for_user(user)
        found |= {
            name: f"{describe_expected(name)} Still using {_format_value(row, name)}."
            for name in chosen
        }
    return found


def _bounds_message(name: str, in_force: AgentConfig) -> str:
    try:
        AgentConfig.build({name: None}, in_force)
    except ConfigError as error:
        return error.problems[name]
    raise AssertionError("no limit is allowed to be nothing")


def _format_value(row: ModelSettings, name: str) -> str:
    return json.dumps(getattr(row, name), ensure_ascii=False)
