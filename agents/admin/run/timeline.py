"""A run's timeline as SVG: numbers for a template, colours by class, no script and no style.

Bounded whatever the run did: what falls on the same spot is drawn once, with a count in its title;
the table behind it has everything up to its own bounds, and says what it leaves out.
"""

import math
from collections.abc import Callable, Iterable

from agents.admin.run.history import (
    DONE,
    FAILED,
    QUEUED,
    REFUSED,
    RUNNING,
    UNKNOWN,
    HistoryNotice,
    HistoryTurn,
    RunHistory,
)
from agents.admin.run.timeline_shapes import (
    LEFT,
    PLOT,
    ROW,
    RowName,
    Tick,
    Timeline,
    TimelineBar,
    TimelineRow,
    format_number,
    get_row_top,
)
from agents.web.notice_levels import notice_level

MAX_LANES = 6
"""Rows for tools; more calls at one moment share a bar."""
MIN_BAR_WIDTH = 2.5
MIN_NUMBER_WIDTH = 16
"""A turn narrower than this has no number."""
MAX_TURNS = 120
MAX_CALLS = 20
"""Of one turn in the table."""
_STATUS_PRECEDENCE = (FAILED, RUNNING, QUEUED, UNKNOWN, REFUSED, DONE)
"""Bars that share a spot have the first of these that one of them has."""


def build_timeline(history: RunHistory, began: float, until: float) -> Timeline:
    """Build a timeline from `began` to `until`, in seconds since the epoch."""
    seconds = max(until - began, 0.001)

    def place(at: float) -> float:
        return PLOT * min(max((at - began) / seconds, 0.0), 1.0)

    drawn = history.turns[:MAX_TURNS]
    tools, lanes = _build_tool_bars(drawn, until, place)
    first = 2 + lanes
    names = ["Iterations", "Model", *(["Tools"] if lanes else []), *[""] * (lanes - 1)]
    names += ["Notices", "Decisions"]
    return Timeline(
        names=[
            RowName(text, format_number(get_row_top(row) + ROW - 5))
            for row, text in enumerate(names)
            if text
        ],
        turns=[_build_turn_bar(turn, until, place) for turn in drawn],
        bars=[*(_build_model_bar(turn, until, place) for turn in drawn), *tools],
        notices=_build_marks(
            ((n.at, _notice_css_class(n), n.title) for n in history.notices), first, place
        ),
        decisions=_build_marks(_iter_decisions(history), first + 1, place),
        ticks=build_ticks(seconds),
        rows=len(names),
        lines=[_build_row(turn, began) for turn in drawn],
        more_turns=len(history.turns) - len(drawn),
        summary=_summarise(history, seconds),
    )


# -- rows -----------------------------------------------------------------------------------------


def _build_turn_bar(
    turn: HistoryTurn, until: float, place: Callable[[float], float]
) -> TimelineBar:
    bar = _build_bar(
        turn.began, turn.ended or until, 0, "wrap-up" if turn.wrap_up else "turn", place
    )
    bar.titles.append(f"Iteration {turn.number}" + (", the wrap-up" if turn.wrap_up else ""))
    bar.label = str(turn.number) if bar.width >= MIN_NUMBER_WIDTH else ""
    return bar


def _build_model_bar(
    turn: HistoryTurn, until: float, place: Callable[[float], float]
) -> TimelineBar:
    """Build the bar of a model call, from the turn's start. While it answers, its end is open."""
    if turn.ended is None:
        waits = min((call.began for call in turn.calls), default=until)
        bar = _build_bar(turn.began, waits, 1, "model", place)
        bar.titles.append(f"Iteration {turn.number}: the model")
    else:
        bar = _build_bar(turn.began, turn.began + turn.model_seconds, 1, "model", place)
        bar.titles.append(f"Iteration {turn.number}: the model, {turn.model_seconds:.1f} s")
    return bar


def _build_tool_bars(
    turns: Iterable[HistoryTurn], until: float, place: Callable[[float], float]
) -> tuple[list[TimelineBar], int]:
    """Return a bar for each call, in as few rows as keep them apart, and the number of rows."""
    ends: list[TimelineBar] = []
    """The last bar of each row."""
    bars: list[TimelineBar] = []
    for turn in turns:
        for call in turn.calls:
            bar = _build_bar(call.began, call.ended or until, 0, call.status, place)
            bar.titles.append(f"Iteration {turn.number}: {call.name}: {call.display}")
            if _place_in_lane(bar, ends):
                bars.append(bar)
    return bars, len(ends)


def _place_in_lane(bar: TimelineBar, ends: list[TimelineBar]) -> bool:
    """Return whether the bar found a row; else it has become part of another."""
    for lane, last in enumerate(ends):
        if last.left + last.width <= bar.left:
            bar.row, ends[lane] = 2 + lane, bar
            return True
    if len(ends) < MAX_LANES:
        bar.row = 2 + len(ends)
        ends.append(bar)
        return True
    _merge_bars(min(ends, key=lambda last: last.left + last.width), bar)
    return False


def _merge_bars(kept: TimelineBar, bar: TimelineBar) -> None:
    end = max(kept.left + kept.width, bar.left + bar.width)
    kept.left = min(kept.left, bar.left)
    kept.width = end - kept.left
    kept.css_class = min(
        kept.css_class, bar.css_class, key=lambda tone: _STATUS_PRECEDENCE.index(tone)
    )
    kept.titles += bar.titles


def _build_marks(
    moments: Iterable[tuple[float, str, str]], row: int, place: Callable[[float], float]
) -> list[TimelineBar]:
    """Return points in time. One that is no further than its own size from the last joins it."""
    marks: list[TimelineBar] = []
    for at, tone, title in moments:
        left = place(at)
        if marks and left - marks[-1].left < 2 * MIN_BAR_WIDTH and marks[-1].css_class == tone:
            marks[-1].titles.append(title)
        else:
            marks.append(TimelineBar(left, 0, row, tone, [title]))
    return marks


def _iter_decisions(history: RunHistory) -> Iterable[tuple[float, str, str]]:
    for point in history.checkpoints:
        said = "the run continues" if point.goes_on else f"the run is stopped: {point.reason}"
        yield (
            point.at,
            "goes-on" if point.goes_on else "stops",
            f"After iteration {point.after_turn}, {said}",
        )


def _notice_css_class(notice: HistoryNotice) -> str:
    """Return its colour, and whether it ends the run by a limit."""
    ends = notice.kind in ("limit_reached", "no_progress", "error_limit")
    return notice_level(notice.kind, notice.severity) + (" ends" if ends else "")


def _build_bar(
    began: float, ended: float, row: int, css_class: str, place: Callable[[float], float]
) -> TimelineBar:
    left, right = place(began), place(max(began, ended))
    width = max(right - left, MIN_BAR_WIDTH)
    return TimelineBar(min(left, PLOT - width), width, row, css_class)


# -- the axis, the table, the words ---------------------------------------------------------------


def build_ticks(seconds: float) -> list[Tick]:
    """Round moments, five to ten of them."""
    rough = seconds / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    found = [n * step for n in range(int(seconds / step) + 1)]
    return [Tick(format_number(LEFT + PLOT * at / seconds), f"{at:.6g} s") for at in found]


def _build_row(turn: HistoryTurn, began: float) -> TimelineRow:
    shown = turn.calls[:MAX_CALLS]
    return TimelineRow(
        turn,
        f"{max(turn.began - began, 0.0):.1f} s",
        f"{turn.model_seconds:.1f} s" if turn.ended is not None else "",
        shown,
        len(turn.calls) - len(shown),
    )


def _summarise(history: RunHistory, seconds: float) -> str:
    calls, failed = history.calls, sum(call.status == FAILED for call in history.calls)
    parts = [
        _format_count(len(history.turns), "iteration"),
        _format_count(len(calls), "tool call") + (f", {failed} failed" if failed else ""),
        _format_count(len(history.notices), "notice"),
        _format_count(len(history.checkpoints), "decision"),
    ]
    return (
        f"Timeline of {seconds:.1f} seconds: {'; '.join(parts)}. The table below has the details."
    )


def _format_count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
