"""The answers of a replay: how one run would have ended, and what that comes to for many."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agents.core.replay.recording import MEASURED_LIMITS, Recording

VerdictKind = Literal["same", "earlier", "later", "other", "unknown"]
VERDICT_KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How one run would have ended, beside how it did.

    `later` with an empty reason: it would have gone on, nobody knows to where. `other`: with
    another reason at the same turn. Turns and tokens saved are the recorded ones less those that
    would have been used. A wrap-up that the recording does not have counts as one turn, and its
    tokens as what they were forecast to be: its request and a short answer. An answer that would
    have been cut counts in full.
    """

    id: str
    kind: VerdictKind
    old_reason: str
    reason: str = ""
    """Empty when it is not known."""
    old_turn: int
    turn: int | None = None
    """Answered turns at the end; None when that is not known."""
    old_tokens: int
    turns_saved: int = 0
    tokens_saved: int = 0
    was_cut: bool = False
    """Whether a run that completed would not have."""
    why_unknown: str = ""
    """A sentence, when the kind or the reason is not known."""
    not_applied: frozenset[str] = frozenset()
    """Limits that could not be applied, because their use was not recorded."""

    @property
    def changes(self) -> bool:
        return self.kind not in ("same", "unknown")


def build_verdict(recording: Recording, kind: VerdictKind, **values: Any) -> Verdict:
    """Judge a recorded run; `values` are what would have been different."""
    return Verdict(
        id=recording.id,
        kind=kind,
        old_reason=recording.reason,
        old_turn=recording.turns,
        old_tokens=recording.tokens,
        not_applied=MEASURED_LIMITS - recording.measured,
        **values,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the verdicts on many runs come to."""

    runs: int
    kinds: Mapping[VerdictKind, int]
    """How many runs there are of each kind, of all kinds."""
    changes: Mapping[tuple[str, str], int]
    """Of the runs that change: (old reason, new reason), the most frequent first."""
    turns: int
    """As recorded, of all runs."""
    tokens: int
    turns_saved: int
    tokens_saved: int
    cut: int
    """Runs that completed and would not have."""
    unknown: Mapping[str, int]
    """Why verdicts or reasons are not known, the most frequent first."""
    not_applied: Mapping[str, int]
    """Limits that could not be applied, and to how many runs."""


def summarize(verdicts: Iterable[Verdict]) -> Summary:
    """Sum up. One verdict after the other, so there may be any number of them."""
    kinds: Counter[VerdictKind] = Counter()
    changes: Counter[tuple[str, str]] = Counter()
    unknown: Counter[str] = Counter()
    not_applied: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for verdict in verdicts:
        kinds[verdict.kind] += 1
        if verdict.changes:
            changes[verdict.old_reason, verdict.reason] += 1
        if verdict.why_unknown:
            unknown[verdict.why_unknown] += 1
        not_applied.update(verdict.not_applied)
        sums["turns"] += verdict.old_turn
        sums["tokens"] += verdict.old_tokens
        sums["turns_saved"] += verdict.turns_saved
        sums["tokens_saved"] += verdict.tokens_saved
        sums["cut"] += verdict.was_cut
    return Summary(
        runs=kinds.total(),
        kinds={kind: kinds[kind] for kind in VERDICT_KINDS},
        changes=dict(changes.most_common()),
        unknown=dict(unknown.most_common()),
        not_applied=dict(sorted(not_applied.items())),
        **{name: sums[name] for name in ("turns", "tokens", "turns_saved", "tokens_saved", "cut")},
    )
