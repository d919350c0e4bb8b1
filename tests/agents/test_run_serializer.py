"""Fields of a run, in the order that is asked for."""

from datetime import UTC, datetime
from uuid import UUID

from agents.models import AgentRun
from agents.run_serializer import get_run_values, serialize_run

KEY = UUID(int=7)
RUN = AgentRun(id=KEY, conversation_key=KEY, turns=3, started_at=datetime(2026, 3, 1, tzinfo=UTC))


def test_fields_come_in_the_order_that_is_asked_for_as_json_has_them() -> None:
    fields = ("turns", "id", "conversation", "continued_from", "started_at", "ended_at")
    assert list(serialize_run(RUN, fields).items()) == [
        ("turns", 3),
        ("id", str(KEY)),
        ("conversation", str(KEY)),
        ("continued_from", None),
        ("started_at", "2026-03-01T00:00:00.000+00:00"),
        ("ended_at", None),
    ]


def test_values_can_be_had_as_the_row_has_them() -> None:
    assert get_run_values(RUN, ("id", "conversation_id")) == {"id": KEY, "conversation_id": KEY}
