"""The memory of rules: words of a run go when that is erased, numbers stay."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any
from uuid import UUID

from agents.audit.event_codec import decode_event
from agents.core.chunks import PARSE_ERRORS, EventRecord
from agents.models.control import RuleState
from agents.models.runs import AgentRun, RunEvent

_Rule = tuple[int, UUID, str]
"""A person, a project, and the key of a rule: what it remembers is of these."""


def forget_words(run_ids: Collection[UUID]) -> None:
    """Delete the values that rules remember in which there are words that these runs gave them.

    Before the runs are erased: afterwards nobody knows what those were.
    """
    owners = _find_owners(run_ids)
    people = {user for user, _ in owners.values()}
    kept = RuleState.objects.filter(user_id__in=people)
    worded = {row: words for row in kept if (words := set(_list_words(row.value)))}
    if not worded:
        return
    given = _find_given(owners)
    gone = [
        row.pk
        for row, words in worded.items()
        if _share_words(words, given.get((row.user_id, row.project_id, row.rule), set()))
    ]
    RuleState.objects.filter(pk__in=gone).delete()


def _find_owners(run_ids: Collection[UUID]) -> dict[UUID, tuple[int, UUID]]:
    found = AgentRun.objects.filter(pk__in=run_ids, user__isnull=False)
    rows = found.values_list("pk", "user_id", "project_id")
    return {run_id: (user_id, project_id) for run_id, user_id, project_id in rows}


def _find_given(owners: Mapping[UUID, tuple[int, UUID]]) -> dict[_Rule, set[str]]:
    """Return the words that rules took from runs, as their firings are recorded."""
    given: dict[_Rule, set[str]] = {}
    rows = RunEvent.objects.filter(run_id__in=list(owners), kind="event", content__contains="state")
    for row in rows.iterator():
        try:
            chunk = decode_event(row)
        except PARSE_ERRORS:  # somebody damaged it
            continue
        if isinstance(chunk, EventRecord) and chunk.name == "rule.fired":
            rule = (*owners[row.run_id], str(chunk.told.get("rule", "")))
            given.setdefault(rule, set()).update(_list_words(chunk.texts.get("state")))
    return given


def _list_words(value: Any) -> Iterator[str]:
    """Yield the texts in a value: lists and maps are gone through, keys are texts too."""
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _list_words(each)
    elif isinstance(value, Mapping):
        for each in chain(value.keys(), value.values()):
            yield from _list_words(each)


def _share_words(kept: Collection[str], given: Collection[str]) -> bool:
    """Return whether a text that was given is in one that is kept: rules may join texts."""
    return any(word in text for text in kept for word in given)
