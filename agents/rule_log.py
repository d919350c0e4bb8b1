"""What rules did in a run, what went wrong with them, why others did not fire, and who said what
to whom. Whatever is stored, reading it never raises."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from agents.core.chunks import EventRecord, Hint, OracleStreamChunk, SystemMessage
from agents.core.control.events import hide_personal, is_personal
from agents.ledger import decode_undamaged, query_events

MAX_ENTRIES = 500
MAX_WORDS = 2_000
LOOP = "limits"
"""Who says what no subscriber says."""
ERASED_RULE = "own rule"
"""What stands for the key of one that somebody wrote for their own runs, where nobody reads it."""


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """A rule that fired, failed or did not fire. Its words are gone when a run is erased."""

    seq: int
    rule: str
    turn: int
    event: str = ""
    mode: str = ""
    is_off: bool = False
    name: str = ""
    words: Sequence[str] = ()

    @property
    def open_rule(self) -> str:
        """Its key, for those who may not read what people wrote."""
        return _hide_own(self.rule)

    @property
    def open_event(self) -> str:
        return hide_personal(self.event)


@dataclass(frozen=True, slots=True)
class SaidEntry:
    """What a subscriber, a rule or a limit said, and to whom."""

    seq: int
    who: str
    to: str
    words: str

    @property
    def open_who(self) -> str:
        return _hide_own(self.who)


@dataclass(slots=True)
class RuleLog:
    fired: list[RuleOutcome] = field(default_factory=list)
    failed: list[RuleOutcome] = field(default_factory=list)
    not_fired: list[RuleOutcome] = field(default_factory=list)
    said: list[SaidEntry] = field(default_factory=list)


def load_rule_log(run_id: UUID) -> RuleLog:
    log = RuleLog()
    for chunk in _load_chunks(run_id):
        match chunk:
            case SystemMessage(system_message=words, metadata=about):
                said = SaidEntry(chunk.seq, _find_speaker(about), "the user", words[:MAX_WORDS])
                log.said.append(said)
            case Hint(text=words):
                log.said.append(SaidEntry(chunk.seq, "", "the model", words[:MAX_WORDS]))
            case EventRecord(name="rule.fired"):
                log.fired.append(_build_entry(chunk, _get_texts(chunk.texts.get("effects"))))
            case EventRecord(name="rule.failed"):
                log.failed.append(_build_entry(chunk, _get_texts([chunk.texts.get("problem")])))
            case EventRecord(name="rule.not_fired"):
                log.not_fired += _list_not_fired(chunk)
            case _:
                pass
    return log


def _load_chunks(run_id: UUID) -> Iterator[OracleStreamChunk]:
    about_rules = Q(kind="event", data_text__contains='"rule.')
    rows = (
        query_events([run_id])
        .annotate(data_text=Cast("data", TextField()))
        .filter(about_rules | Q(kind__in=("system", "hint")))
        .order_by("seq")
        .values_list("seq", "kind", "data_text", "content", "at")
    )
    return decode_undamaged(rows[:MAX_ENTRIES])


def _build_entry(record: EventRecord, words: Sequence[str]) -> RuleOutcome:
    told = record.told
    return RuleOutcome(
        seq=record.seq,
        rule=_get_text(told.get("rule")) or ERASED_RULE,
        turn=_get_number(told.get("turn")),
        event=_get_text(told.get("event")),
        mode=_get_text(told.get("mode")),
        is_off=told.get("off") is True,
        name=_get_text(told.get("name")),
        words=words,
    )


def _list_not_fired(record: EventRecord) -> Iterator[RuleOutcome]:
    found = record.texts.get("rules")
    for one in found if isinstance(found, list) else ():
        if isinstance(one, Mapping):
            yield RuleOutcome(
                seq=_get_number(one.get("seq")),
                rule=_get_text(one.get("rule")),
                turn=_get_number(one.get("turn")),
                name=_get_text(one.get("name")),
                words=[_get_text(one.get("why"))],
            )


def _find_speaker(about: Mapping[str, Any]) -> str:
    """Return the key of a rule, which has its level before it; or the id of a subscriber."""
    rule = _get_text(about.get("own_rule") or about.get("rule"))
    return rule if ":" in rule else _get_text(about.get("subscriber")) or LOOP


def _hide_own(key: str) -> str:
    return ERASED_RULE if is_personal(key) else key


def _get_text(value: Any) -> str:
    return value[:MAX_WORDS] if isinstance(value, str) else ""


def _get_texts(values: Any) -> list[str]:
    found = values if isinstance(values, list) else []
    return [_get_text(value) for value in found if isinstance(value, str)]


def _get_number(value: Any) -> int:
    return value if isinstance(value, int) else 0
