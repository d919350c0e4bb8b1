"""A run as a dict, for files and programs: who writes one says which fields it has."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from agents.models import AgentRun
from agents.web.formatting import format_timestamp

SETUP_FIELDS = ("model", "tree", "behaviour", "config")
ENDING_FIELDS = ("outcome", "reason", "also_triggered")
TIME_FIELDS = ("started_at", "ended_at")
TOKEN_FIELDS = ("tokens_in", "tokens_out", "usage_source")

ATTRIBUTES = {
    "behaviour": "behaviour_name",
    "conversation": "conversation_key",
    "conversation_id": "conversation_key",
    "continued_from": "continued_from_id",
}
"""Of a run, where a field is called otherwise."""


def get_run_values(run: AgentRun, fields: Sequence[str]) -> dict[str, Any]:
    """Return these fields of a run, in this order, as the row has them."""
    return {name: getattr(run, ATTRIBUTES.get(name, name)) for name in fields}


def serialize_run(run: AgentRun, fields: Sequence[str]) -> dict[str, Any]:
    """Return these fields of a run, in this order, as JSON can have them."""
    return {name: _serialize(value) for name, value in get_run_values(run, fields).items()}


def _serialize(value: Any) -> Any:
    match value:
        case UUID():
            return str(value)
        case datetime():
            return format_timestamp(value)
        case _:
            return value
