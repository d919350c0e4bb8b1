"""A run with everything in it that an export shows."""

from typing import Any

from agents.core.chunks import (
    CallView,
    Content,
    OracleStreamChunk,
    Source,
    SourceRef,
    SystemMessage,
    ToolCalled,
    ToolResult,
    Turn,
)
from chat.models import Exchange
from tests.chat.factories import Talk, said

ENDING: dict[str, Any] = {
    "outcome": "limited",
    "reason": "max_iterations",
    "answer": "It is **so**.",
    "explanation": "The run used all its iterations.",
    "tokens_in": 1_200,
    "tokens_out": 34,
    "usage_source": "provider",
    "turns": 4,
}


def chunks(result: str = "three gauges") -> list[OracleStreamChunk]:
    call = CallView("c1", "vault_search", {"query": "tide"}, "running")
    return [
        ToolCalled(seq=1, at=1.0, tool_call=call),
        ToolCalled(seq=2, at=1.0, parent="c1", tool_call=CallView("s1", "inner", {}, "running")),
        ToolResult(
            seq=3, at=2.0, tool_call_id="c1", tool_result=result, ok=True, duration_ms=1234, order=0
        ),
        ToolCalled(seq=4, at=2.0, tool_call=CallView("c2", "look", "{bad", "refused")),
        Source(seq=5, at=2.0, source=SourceRef("ops/gauge.md", "vault", 3, "a *gauge*")),
        SystemMessage(
            seq=6,
            at=3.0,
            system_type="limit_warning",
            system_message="Last iteration (4/4): answering now. Raise the limit for longer work.",
            severity="warning",
            metadata={"phase": "wrap_up", "limit_type": "iterations"},
        ),
        SystemMessage(
            seq=7,
            at=3.0,
            system_type="limit_reached",
            system_message="All iterations are used.",
            severity="error",
            metadata={"current_value": 4, "limit_value": 4, "limit_type": "iterations"},
        ),
    ]


def limited(talk: Talk, result: str = "three gauges") -> Exchange:
    exchange = talk.ask("Which gauges?", **ENDING)
    said(exchange, chunks(result))
    return exchange


def half_written(talk: Talk) -> Exchange:
    exchange = talk.ask("Still at it?", outcome=None, reason="", answer="")
    said(
        exchange,
        [
            Turn(seq=1, at=1.0, number=1, phase="start"),
            Content(seq=2, at=1.0, content="So "),
            Content(seq=3, at=1.0, content="far"),
        ],
    )
    return exchange
