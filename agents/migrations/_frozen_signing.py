"""How runs and audit entries were signed when migrations 0003 and 0004 were written.

Kept here, apart from `agents.models`: what an old migration does must not change with today's code.
Never edit it. The key is the site's, as everywhere.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

APPEND_LOCK = 0x0AC1E
"""PostgreSQL's advisory lock under which entries are appended: a link needs the one before it."""
TEXTS = ("question", "answer", "explanation", "cancel_note")
START = (
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
END = (
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


def next_link(previous: str, signed: str) -> str:
    """Return the link that follows on `previous` and covers `signed`."""
    key = settings.AUDIT_KEYS[0].encode()
    return hmac.digest(key, f"{previous}{signed}".encode(), "sha256").hex()


def digest(text: str) -> str:
    """Return the digest of a text, which may hold lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sign_start(run: Any) -> None:
    """Sign what a run started from."""
    user_mark = next_link("user", str(run.user_id))[:16]
    run.digests = {"question": digest(run.question), "user": user_mark}
    run.first_link = next_link("", _facts(run, START) + _canonical(run.digests))


def signed_payload(event: Any) -> str:
    """Return what the link of an event covers: its digest, and what cannot be erased of it."""
    bare = {"type": event.kind, "seq": event.seq, **event.data}
    bare["at"] = event.at.isoformat(timespec="milliseconds")
    written = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{event.sha256}{written}"


def sign_end(run: Any, link: str) -> None:
    """Seal a run that has ended; of its tools nothing was counted."""
    run.digests |= {name: digest(getattr(run, name)) for name in TEXTS}
    run.digests["tools"] = digest("")
    run.seal = next_link(link, _facts(run, START + END))


def append_entries(entries: Any, verb: str, run_id: Any, details: Iterable[dict[str, Any]]) -> None:
    """Append an entry about a run for each detail, done by nobody.

    `entries` are all entries of the audit, by the historical model and the migrated database.
    """
    with transaction.atomic(using=entries.db):
        _lock(entries.db)
        last = entries.order_by("-id").values_list("link", flat=True).first() or ""
        for detail in details:
            entry = entries.model(by_mark="", verb=verb, run_id=run_id, detail=detail)
            facts = [entry.at.isoformat(), "", verb, str(run_id), detail]
            entry.link = last = next_link(last, digest(json.dumps(facts, sort_keys=True)))
            entry.save(using=entries.db)


def _lock(alias: str) -> None:
    connection = transaction.get_connection(alias)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [APPEND_LOCK])


def _facts(run: Any, names: Sequence[str]) -> str:
    return _canonical({name: getattr(run, name) for name in names})


def _canonical(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return str(value)
