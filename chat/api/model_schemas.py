"""The model settings as they go in and out. Bounds, lengths and defaults are those of the columns;
what is sent is checked again where it is stored (`agents.endpoints.model_settings`)."""

from typing import Any

from pydantic import Field, create_model

from agents.endpoints.model_settings import KEY, SETTING_NAMES, get_bounds, provider_names
from agents.endpoints.selection import MAX_KEY_LENGTH
from agents.models import ModelSettings
from chat.api.schemas import (
    Schema,
    Version,
    VersionedLimits,
    WholeNumber,
    optional_limits,
    required_limits,
    without_default,
)

URL_PATTERN = r"^(https?://[!-~]+)?$"
PRINTABLE_PATTERN = r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$"
"""What Python calls printable."""


def _get_column(name: str) -> Any:
    return ModelSettings._meta.get_field(name)


DESCRIPTIONS = {
    "provider": "Who answers: a preset, or empty for this site's own endpoint.",
    "base_url": "Where a local provider is, or one of your own; empty: its usual address.",
    "oracle_model": "The model that is asked; empty: the default.",
    "subagent_model": "The model of the librarian; empty: the same.",
    "thinking_enabled": "Whether the model may think before it answers.",
    "delegate_long_results": "Whether a librarian summarises results that are too long.",
    "reasoning_effort": "How much it thinks, where this can be set.",
    KEY: "Your key for the chosen provider; empty removes it. It is stored encrypted, sent to that "
    "endpoint only, and never shown.",
}
CONSTRAINTS: dict[str, dict[str, Any]] = {
    "base_url": {"max_length": _get_column("base_url").max_length, "pattern": URL_PATTERN},
    "oracle_model": {
        "max_length": _get_column("oracle_model").max_length,
        "pattern": PRINTABLE_PATTERN,
    },
    "subagent_model": {
        "max_length": _get_column("subagent_model").max_length,
        "pattern": PRINTABLE_PATTERN,
    },
    KEY: {"max_length": MAX_KEY_LENGTH, "pattern": r"^[!-~]*$"},
}


def _field_type(name: str) -> Any:
    if name == KEY:
        return str
    return {bool: bool, int: WholeNumber}.get(type(_get_column(name).default), str)


def _description_args(name: str) -> dict[str, Any]:
    if name in DESCRIPTIONS:
        return {"description": DESCRIPTIONS[name]}
    column = _get_column(name)
    return {"description": f"{column.help_text} Default: {column.default:,}."}


def _optional_field(name: str) -> Any:
    def describe(schema: dict[str, Any]) -> None:
        """Describe what can be chosen when the document is made: the site decides."""
        without_default(schema)
        if name == "provider":
            schema["enum"] = list(provider_names())
        elif name == "reasoning_effort":
            schema["enum"] = list(ModelSettings.Effort.values)
        elif name == KEY:
            schema["writeOnly"] = True

    checks = dict(CONSTRAINTS.get(name, {}))
    if _field_type(name) is WholeNumber:
        checks["ge"], checks["le"] = get_bounds(name)
    return _field_type(name), Field(
        None, json_schema_extra=describe, **_description_args(name), **checks
    )


def _view_fields() -> dict[str, Any]:
    """Return fields without checks: whatever is stored is told."""
    return {name: (_field_type(name), Field(**_description_args(name))) for name in SETTING_NAMES}


ModelSettingsView: Any = create_model(
    "ModelSettingsView",
    __base__=Schema,
    __doc__="A person's models and limits, and a version that grows with every change.",
    version=(Version, ...),
    **_view_fields(),
    **required_limits(),
    has_key=(bool, Field(description="Whether you have a key for the chosen provider.")),
)
ModelSettingsPatch: Any = create_model(
    "ModelSettingsPatch",
    __base__=VersionedLimits,
    __doc__="Some model settings and limits.",
    **optional_limits(),
    **{name: _optional_field(name) for name in (*SETTING_NAMES, KEY)},
)
