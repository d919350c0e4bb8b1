"""Words for one event, or for several: a sentence for people, and for the model a sentence or
a small table. Words that come from outside are quoted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.core.control.events import AgentEvent, hide_personal, quote_texts
from agents.core.control.template import Template, format_value
from agents.core.notify.subscriber import PRIORITIES, Subscriber
from agents.core.reasons import Severity
from agents.core.sanitize import truncate
from agents.core.state import Notice

MAX_HINT_LENGTH = 480
"""Characters that one subscriber may put into a request: three of them fit."""
MAX_SENTENCES = 3
"""Sentences about as many events that people are shown at once; the rest is counted."""
_GRAVE: Mapping[str, Severity] = {"warning": "warning", "error": "error", "critical": "error"}
_RANKS: Sequence[Severity] = ("info", "warning", "error")


@dataclass(slots=True)
class ToldEvent:
    """An event that waits to be told, and how many that count as the same were folded into it."""

    event: AgentEvent
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification(Notice):
    """A notice that a subscriber gives. Its key is empty: the bus sees to what is said once."""

    core: bool
    rank: int
    """Its priority, the most urgent being 0."""
    events: tuple[int, ...] = ()
    """Where the run has recorded what the hint has room to tell, by the numbers of the chunks."""


def build_notification(
    subscriber: Subscriber, told: Sequence[ToldEvent], more: int = 0
) -> Notification:
    """Say what a subscriber says of these events, and of how many more."""
    words = subscriber.words
    for_user, for_model = _select(told, "user"), _select(told, "model")
    severity = max((_GRAVE.get(one.event.severity, "info") for one in told), key=_RANKS.index)
    hint, shown = _write_hint(subscriber, words.hint, for_model, more)
    return Notification(
        key="",
        system_type=subscriber.system_type,
        message=_write_message(subscriber.name, words.message, for_user, more),
        hint=hint,
        severity=severity,
        metadata={
            "subscriber": subscriber.id,
            "events": list(dict.fromkeys(hide_personal(one.event.name) for one in told)),
            "count": sum(one.times for one in told) + more,
            **_name_triggers(told),
        },
        core=subscriber.core,
        rank=PRIORITIES.index(subscriber.priority),
        events=tuple(one.event.seq for one in for_model[:shown]),
    )


def _name_triggers(told: Sequence[ToldEvent]) -> dict[str, list[str]]:
    """Return which events made rules speak, where rules do."""
    names = [one.event.payload.get("trigger") for one in told if one.event.name == "rule.notify"]
    triggers = list(dict.fromkeys(hide_personal(name) for name in names if name))
    return {"triggers": triggers} if triggers else {}


def _select(told: Sequence[ToldEvent], who: str) -> list[ToldEvent]:
    """Return what is for somebody: a rule may speak to the user, the model or both."""
    return [
        one
        for one in told
        if one.event.name != "rule.notify" or one.event.payload["to"] in (who, "both")
    ]


def build_loop_notice(
    subscriber: Subscriber,
    key: str,
    values: Mapping[str, Any],
    metadata: Mapping[str, Any],
    *,
    variant: str = "",
    severity: Severity = "warning",
) -> Notice:
    """Word a notice of the loop's own, with values that can be shown as they are."""
    words = subscriber.variants[variant] if variant else subscriber.words
    return Notice(
        key=key,
        system_type=subscriber.system_type,
        message=words.message.render(values, str) if words.message else "",
        hint=words.hint.render(values, str) if words.hint else "",
        severity=severity,
        metadata=metadata,
    )


def _write_message(
    title: str, template: Template | None, told: Sequence[ToldEvent], more: int
) -> str:
    if template is None or not told:
        return ""
    sentences = [_write_sentence(template, one) for one in told[:MAX_SENTENCES]]
    if len(told) == 1 and not more:
        return sentences[0]
    left_out = len(told) - len(sentences) + more
    rest = f"; and {left_out} more" if left_out else ""
    return f"{title} ({len(told) + more}): {'; '.join(sentences)}{rest}"


def _write_hint(
    subscriber: Subscriber, template: Template | None, told: Sequence[ToldEvent], more: int
) -> tuple[str, int]:
    """Return what the model is told, and of how many of the events, from the first on."""
    if template is None or not told:
        return "", 0
    if len(told) == 1 and not more:
        return truncate(_write_sentence(template, told[0]), MAX_HINT_LENGTH), 1
    columns = subscriber.columns
    shape = f"{{{','.join(columns)}}}" if columns else ""
    lines = [f"{subscriber.name}[{len(told) + more}]{shape}:"]
    rows = [_write_row(columns, one) if columns else _write_sentence(template, one) for one in told]
    return _join_lines(lines, rows, more)


def _join_lines(lines: list[str], rows: Sequence[str], more: int) -> tuple[str, int]:
    """Return as many rows as fit, with a count of the rest; and how many fit."""
    size = len(lines[0]) + len("\nand 100,000 more")
    shown = 0
    for row in rows:
        size += len(row) + 1
        if size > MAX_HINT_LENGTH:
            break
        lines.append(row)
        shown += 1
    left_out = len(rows) - shown + more
    return "\n".join([*lines, f"and {left_out:,} more"] if left_out else lines), shown


def _write_sentence(template: Template, one: ToldEvent) -> str:
    text = template.render(quote_texts(one.event), str)
    return f"{text} ({one.times} times)" if one.times > 1 else text


def _write_row(columns: Sequence[str], one: ToldEvent) -> str:
    values = quote_texts(one.event)
    cells = [format_value(values.get(name), "", str) for name in columns]
    return ",".join([*cells, f"{one.times} times"] if one.times > 1 else cells)
