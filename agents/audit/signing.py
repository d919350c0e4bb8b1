"""What makes tampering visible: each event's link is made from the one before it, with a key.

A run's first link covers what it started from; its seal covers how it ended and its last link. The
key is in the environment, not in the database: whoever can write there and nothing else can break
the chain, but cannot repair it. Texts enter by their digests, so that they can be erased.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from agents.models.runs import AgentRun

TOOL_FIELDS = ("name", "calls", "failed", "refused", "total_ms", "slowest_ms")
ERASABLE_TEXTS = ("question", "answer", "explanation", "cancel_note")
"""What may be erased of a run; its digests stay."""
_START_FIELDS = (
    "id",
    "project_id",
    "conversation_key",
    "context_runs",
    "continued_from_id",
    "client_message_id",
    "tree",
    "model",
    "config",
    "started_at",
    "day",
)
_BEHAVIOUR_FIELDS = ("behaviour", "behaviour_digest")
"""Signed where they say something: runs have not always had them."""
OWN_BEHAVIOUR = "behaviour"
"""The digest that a run has which its user's own behaviour drives: its name can be erased."""
_END_FIELDS = (
    "outcome",
    "reason",
    "also_triggered",
    "error",
    "wrapped_up",
    "turns",
    "tool_calls",
    "tokens_in",
    "tokens_out",
    "tokens",
    "usage_source",
    "ended_at",
    "duration_ms",
    "turns_percent",
    "tokens_percent",
    "time_percent",
    "cancel_requested_at",
    "last_seq",
    "digests",
)


def all_keys() -> tuple[bytes, ...]:
    """Return all keys: the first one signs, earlier ones are still believed."""
    return tuple(key.encode() for key in settings.AUDIT_KEYS)


def next_link(previous: str, signed: str, key: bytes) -> str:
    return hmac.digest(key, f"{previous}{signed}".encode(), "sha256").hex()


def next_links(previous: str, signed: Iterable[str]) -> list[str]:
    """Return the links of things that follow on one another."""
    key, made = all_keys()[0], []
    for one in signed:
        previous = next_link(previous, one, key)
        made.append(previous)
    return made


def first_link(run: AgentRun, key: bytes) -> str:
    """Return the link of what a run started from: digests of question and user must be there."""
    started = {name: run.digests.get(name, "") for name in ("question", "user")}
    if OWN_BEHAVIOUR in run.digests:
        started[OWN_BEHAVIOUR] = run.digests[OWN_BEHAVIOUR]
    return next_link("", _canonical_fields(run, _START_FIELDS) + _to_canonical_json(started), key)


def seal(run: AgentRun, link: str, key: bytes) -> str:
    """Return the seal of how a run ended, and of its last link."""
    return next_link(link, _canonical_fields(run, _START_FIELDS + _END_FIELDS), key)


def sign_start(run: AgentRun, *, is_own_behaviour: bool = False) -> None:
    """Sign a new run."""
    run.digests = {"question": digest(run.question), "user": user_pseudonym(run.user_id)}
    if is_own_behaviour:
        run.digests[OWN_BEHAVIOUR] = digest(run.behaviour)
    run.first_link = first_link(run, all_keys()[0])


def sign_end(run: AgentRun, link: str, tools: Iterable[Mapping[str, Any]]) -> None:
    """Sign a run that has just ended."""
    run.digests |= {name: digest(getattr(run, name)) for name in ERASABLE_TEXTS}
    run.digests["tools"] = tools_digest(tools)
    run.seal = seal(run, link, all_keys()[0])


def tools_digest(tools: Iterable[Mapping[str, Any]]) -> str:
    """Return the digest of what a run used of each tool."""
    return digest(
        "".join(sorted(_to_canonical_json({k: t[k] for k in TOOL_FIELDS}) for t in tools))
    )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def user_pseudonym(user_id: int | None, key: bytes | None = None) -> str:
    """Return what stands for a person without naming them: it stays when they are deleted."""
    return next_link("user", str(user_id), key or all_keys()[0])[:16]


def _canonical_fields(run: AgentRun, names: Sequence[str]) -> str:
    if OWN_BEHAVIOUR in run.digests:
        names = (*names, "behaviour_digest")
    elif any(getattr(run, name) for name in _BEHAVIOUR_FIELDS):
        names = (*names, *_BEHAVIOUR_FIELDS)
    return _to_canonical_json({name: getattr(run, name) for name in names})


def _to_canonical_json(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), default=_serialize_value)


def _serialize_value(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return str(value)
