"""Stored runs under another behaviour: how each would have ended, as far as its recording can tell.
Four queries for each lot of them, and no model."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import thread_time
from typing import Any
from uuid import UUID

from agents.core.behaviours import Behaviour
from agents.core.behaviours.rehearsal import TRUNCATED, RehearsedTurn, rehearse
from agents.core.chunks import (
    PARSE_ERRORS,
    Content,
    Decision,
    Hint,
    OracleStreamChunk,
    ToolCalled,
    Turn,
)
from agents.core.config import AgentConfig
from agents.core.decisions.endings import PROVIDER_ERROR
from agents.core.replay.course import apply_rehearsal, has_request
from agents.core.replay.engine import replay
from agents.core.replay.recording import DAMAGED_MESSAGE, Recording
from agents.core.replay.result import Verdict, build_verdict
from agents.core.stuck import StuckRules
from agents.ledger import decode_row, load_rows_of_runs
from agents.models import AgentRun
from agents.models.runs import DEFAULT_BEHAVIOUR
from agents.replay_source import BATCH_SIZE, load_recordings

ERASED = "What was said was erased, and a behaviour goes by that."
TOO_DEAR = "Not played: the behaviour takes too long for so many runs. Choose fewer."
SENT_BACK = "sent_back"
_ANSWERED = frozenset({"stop", "length"})
_FAILURES = {"content_filter": "content_filter", "length": TRUNCATED, "error": PROVIDER_ERROR}
_READ_KINDS = ("turn", "content", "hint", "tool_call", "decision")
_NO_LIMITS: Mapping[str, int] = {}
Writes = Callable[[str], bool]


def replay_behaviour(
    behaviour: Behaviour,
    runs: Sequence[UUID],
    *,
    writes: Writes,
    limits: Mapping[str, int] = _NO_LIMITS,
    stuck: StuckRules | None = None,
    max_seconds: float = math.inf,
) -> Iterator[Verdict]:
    """Yield how each run would have ended. `writes` says whether a tool changes anything. What is
    left after `max_seconds` of the processor is given up."""
    began = thread_time()
    for start in range(0, len(runs), BATCH_SIZE):
        batch = runs[start : start + BATCH_SIZE]
        stored = _load_batch(batch, behaviour)
        for recording in load_recordings(batch, tree=behaviour.decision_tree):
            question, turns = stored.get(recording.id, ("", None))
            if thread_time() - began > max_seconds:
                yield _refuse(recording, TOO_DEAR)
            elif recording.damage or turns is None:
                yield _refuse(recording, recording.damage or DAMAGED_MESSAGE)
            elif not question:
                yield _refuse(recording, ERASED)
            else:
                config = AgentConfig.build(limits, recording.config)
                found = rehearse(behaviour, turns, question=question, config=config, writes=writes)
                played = apply_rehearsal(recording, found)
                yield replay(played, limits=limits, tree=behaviour.decision_tree, stuck=stuck)


def _refuse(recording: Recording, why: str) -> Verdict:
    return build_verdict(recording, "unknown", why_unknown=why)


def _load_batch(
    ids: Sequence[UUID], behaviour: Behaviour
) -> dict[str, tuple[str, list[RehearsedTurn] | None]]:
    """Return the questions and turns of runs by their ids as text; None: they are damaged."""
    rows = AgentRun.objects.filter(pk__in=ids)
    events = load_rows_of_runs(ids, _READ_KINDS, decisions_with=f'"{SENT_BACK}"')
    return {
        str(run.pk): (run.question, _try_fold(run, events.get(run.pk, []), behaviour))
        for run in rows.only("pk", "question", "behaviour", "behaviour_digest")
    }


def _try_fold(
    run: AgentRun, events: list[tuple[Any, ...]], behaviour: Behaviour
) -> list[RehearsedTurn] | None:
    chunks = (decode_row(*event) for event in events if '"parent": ' not in event[2])
    try:
        return fold_turns(run, filter(None, chunks), behaviour)
    except PARSE_ERRORS:
        return None


def fold_turns(
    run: AgentRun, chunks: Iterable[OracleStreamChunk], behaviour: Behaviour
) -> list[RehearsedTurn]:
    """Return the turns that a behaviour can have driven: the last answer of a limit is not one."""
    is_steered = run.behaviour_name not in ("", DEFAULT_BEHAVIOUR)
    fold = _TurnFold(is_steered=is_steered and run.behaviour_digest != behaviour.digest)
    for chunk in chunks:
        if not chunk.parent:
            fold.add(chunk)
    return fold.turns


class _TurnFold:
    def __init__(self, *, is_steered: bool) -> None:
        self.turns: list[RehearsedTurn] = []
        self._is_steered = is_steered
        self._open: Turn | None = None
        self._texts: list[str] = []
        self._hints: list[str] = []
        self._tools: dict[str, str] = {}
        self._follows_calls = False

    def add(self, chunk: OracleStreamChunk) -> None:
        match chunk:
            case Turn(phase="start"):
                self._open, self._texts, self._hints, self._tools = chunk, [], [], {}
            case Turn() if self._open is not None:
                self._close(chunk)
            case Content(content=text):
                self._texts.append(text)
            case Hint(text=text):
                self._hints.append(text)
            case ToolCalled(tool_call=call):
                self._tools[call.id] = call.name
            case Decision(checks=checks) if self.turns and any(
                check.value == SENT_BACK for check in checks
            ):
                self.turns[-1] = replace(self.turns[-1], is_blank=True)
            case _:
                pass

    def _close(self, end: Turn) -> None:
        opened, self._open = self._open, None
        if opened is None or opened.wrap_up:
            return
        if not has_request(end):
            self._follows_calls = self._follows_calls or bool(self._tools)
            return
        self.turns.append(
            RehearsedTurn(
                number=end.number,
                text="".join(self._texts),
                hints=" ".join(self._hints),
                tools=tuple(self._tools.values()),
                interim=opened.interim,
                seconds=end.model_ms / 1000,
                is_blank=end.finish_reason not in _ANSWERED,
                failure=_FAILURES.get(end.finish_reason, ""),
                is_steered=self._is_steered,
                follows_calls=self._follows_calls,
            )
        )
        self._follows_calls = False
