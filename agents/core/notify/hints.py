"""Build the hints of one request, never more than the forecast of a turn allows for."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.core.notify.words import Notification
from agents.core.sanitize import neutralise_system_notes, replace_unstorable
from agents.core.state import Notice
from agents.core.tokens import truncate_middle

MAX_HINT_CHARS = 1_500
"""Of all hints in a request; that much growth is in the forecast of a turn."""
MIN_WORDS_CHARS = 100
"""With less room a behaviour says nothing."""
MAX_OTHERS = 3
"""Hints in a request that are not core."""
_LOOP_HINT_CHARS = 500
_FRAME_CHARS = len("[Oracle: ]\n")
_REST_CHARS = len("and 1,000 more")


@dataclass(frozen=True, slots=True, eq=False)
class HintLine:
    """One thing that the model will be told."""

    text: str
    core: bool = True
    rank: int = 0
    """Its priority, the most urgent being 0."""
    events: tuple[int, ...] = ()
    """Where the run has recorded what it tells of."""


@dataclass(frozen=True, slots=True)
class FittedHints:
    """What a request has room for, and what was left out."""

    texts: list[str]
    events: tuple[int, ...] = ()
    """Where the run has recorded what is told."""
    dropped: int = 0


def build_hint(notice: Notice) -> HintLine:
    """Return what the model is told. Only what subscribers say can be less than core."""
    if isinstance(notice, Notification):
        return HintLine(notice.hint, notice.core, notice.rank, notice.events)
    return HintLine(truncate_middle(notice.hint, _LOOP_HINT_CHARS))


def fit_hints(
    lines: Sequence[HintLine], room: int | None = None, spare: int = MAX_HINT_CHARS
) -> FittedHints:
    """Return what fits, in its order; the rest is counted where anything is told at all.

    `room` is what a last answer leaves; without it, a request may have as many as any. What is not
    core goes first, the least urgent before the rest; then the oldest. Of it, there is never more
    than the tokens to `spare`: a run does not end early for what it could do without.
    """
    if not lines:
        return FittedHints([])
    frame = _FRAME_CHARS if room is None else 0
    others = sorted((line for line in lines if not line.core), key=lambda line: line.rank)
    allowed = others[:MAX_OTHERS]
    size = sum(len(line.text) + frame for line in lines if line.core or line in allowed)
    rest = frame + _REST_CHARS if others else 0
    limit = (MAX_HINT_CHARS if room is None else room) - rest
    while allowed and sum(len(line.text) + frame for line in allowed) > spare - rest:
        size -= len(allowed.pop().text) + frame
    while allowed and size > limit:
        size -= len(allowed.pop().text) + frame
    kept = [line for line in lines if line.core or line in allowed]
    while kept and size > limit:
        size -= len(kept.pop(0).text) + frame
    left_out = len(others) - len(allowed)
    texts = [line.text for line in kept]
    if left_out and texts:
        texts.append(f"and {left_out:,} more")
    events = tuple(seq for line in kept for seq in line.events)
    return FittedHints(texts, events, len(lines) - len(kept))


def measure_told(lines: Sequence[HintLine]) -> int:
    """Return how long the next request will be made by what subscribers have to tell the model."""
    told = [line for line in lines if line.events]
    return sum(len(text) + _FRAME_CHARS for text in fit_hints(told).texts) if told else 0


def fit_words(words: str, beside: FittedHints) -> list[str]:
    """Return what a behaviour says, cut in its middle to what hints leave: they go first."""
    if not words:
        return []
    taken = sum(len(text) + _FRAME_CHARS for text in beside.texts)
    room = MAX_HINT_CHARS - taken - _FRAME_CHARS
    clean = neutralise_system_notes(replace_unstorable(words)).strip()
    return [truncate_middle(clean, room)] if clean and room >= MIN_WORDS_CHARS else []
