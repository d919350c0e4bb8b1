"""Words of a run's page: why it stopped, what it used of its limits, where numbers come
from. All of it metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from agents.admin.run.event_rows import EventSummary, safe_int
from agents.admin.run.history import REFUSED, RUNNING, RunHistory
from agents.core.config import LIMITS
from agents.core.reasons import REASONS
from agents.models import AgentRun
from agents.runtime import describe_silence
from agents.web.limit_levels import limit_css_class
from agents.web.reason_labels import RUNNING as RUNNING_CODE
from agents.web.reason_labels import reason_label


@dataclass(frozen=True, slots=True)
class StopReason:
    """One sentence and what to do about it."""

    sentence: str
    remedy: str
    also: Sequence[str] = ()
    """Labels of what else held."""


def get_stop_reason(run: AgentRun, history: RunHistory, record: EventSummary) -> StopReason:
    """Return why it stopped, or what it is doing."""
    if run.outcome is None:
        return StopReason(current_activity(run, history, record), "")
    also = run.also_triggered if isinstance(run.also_triggered, list) else []
    held = [reason_label(code) for code in also[:20] if isinstance(code, str)]
    if run.reason not in REASONS:
        return StopReason(f"The run ended for an unknown reason: {run.reason[:64]}.", "", held)
    reason = REASONS.get(run.reason)
    if run.reason == "user_cancelled" and run.cancel_note:
        return StopReason(f"Stopped by an administrator: {run.cancel_note}", reason.remedy, held)
    return StopReason(reason.sentence, reason.remedy, held)


def build_badges(run: AgentRun) -> list[tuple[str, str]]:
    """Return outcome and reason, each with the colour it has everywhere."""
    if run.outcome is None:
        return [(RUNNING_CODE, reason_label(RUNNING_CODE))]
    group = REASONS.get(run.reason).outcome.value if run.reason in REASONS else run.outcome
    found = [
        (run.outcome, run.outcome.capitalize()),
        (group, reason_label(run.reason) or "No reason"),
    ]
    return list(dict.fromkeys(found))


def current_activity(run: AgentRun, history: RunHistory, record: EventSummary) -> str:
    """Say what a run in progress is doing, as far as its events tell."""
    if silence := describe_silence(run):
        return silence
    if run.cancel_requested_at is not None:
        return "It has been asked to stop and is stopping."
    running = [call.name for call in history.open_calls if call.status == RUNNING]
    if running:
        return f"It is using {_join_names(running)}."
    if not history.turns:
        return "It is about to ask the model for the first time."
    turn = history.turns[-1]
    if turn.ended is not None:
        return f"Iteration {turn.number} has ended; the next one is about to start."
    newest = {kind: tally.newest for kind, tally in record.by_kind.items()}
    written = max(newest.get("content", 0), newest.get("thinking", 0))
    if written < newest.get("turn", 0):
        return f"It is waiting for the model's answer in iteration {turn.number}."
    is_text = newest.get("content", 0) == written
    doing = "writing its answer" if is_text else "thinking"
    return f"The model is {doing} in iteration {turn.number}."


def _join_names(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more


# -- limits ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LimitUsage:
    """One field of the configuration in force. Without `percent` there is nothing to measure."""

    label: str
    display: str
    percent: int | None = None
    ends: bool = False
    """Whether a run ends when it is used up: then its meter warns."""

    @property
    def css_class(self) -> str:
        return limit_css_class(self.percent or 0) if self.ends else ""

    @property
    def meter_value(self) -> int:
        """A meter cannot be more than full."""
        return min(self.percent or 0, 100)


def list_limit_usage(run: AgentRun, history: RunHistory) -> list[LimitUsage]:
    """Return every limit that was in force, with how much of it was used; those that were not
    measured come last."""
    config: Mapping[str, Any] = run.config if isinstance(run.config, dict) else {}
    used = _measure_usage(run, history)
    found = [_build_limit_usage(name, config.get(name), used.get(name)) for name in LIMITS]
    return sorted(found, key=lambda limit: limit.percent is None)


def _measure_usage(run: AgentRun, history: RunHistory) -> dict[str, tuple[int | float, str]]:
    """Return by field how much of it was used, and a word for what it is counted in."""
    over = run.outcome is not None
    busiest = max((_count_started(turn.calls) for turn in history.turns), default=0)
    return {
        "max_iterations": (run.turns if over else history.used_turns, ""),
        "token_budget": (run.tokens if over else history.used_tokens, ""),
        "timeout_seconds": (get_duration_seconds(run), " s"),
        "max_tool_calls_per_turn": (busiest, " in the busiest iteration"),
        "max_parallel_tools": (_count_concurrent(history), " at once"),
    }


def _build_limit_usage(name: str, value: Any, used: tuple[int | float, str] | None) -> LimitUsage:
    text = LIMITS[name].label
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 10**9:
        return LimitUsage(text, "not recorded")
    if used is None:
        return LimitUsage(text, f"{value:,}")
    amount, unit = used
    said = f"{amount:,.1f}" if isinstance(amount, float) else f"{amount:,}"
    share = round(100 * amount / value)
    return LimitUsage(text, f"{said} of {value:,}{unit}", share, ends=name in _ENDING_LIMITS)


_ENDING_LIMITS = frozenset({"max_iterations", "token_budget", "timeout_seconds"})


def _count_started(calls: Sequence[Any]) -> int:
    return sum(call.status != REFUSED for call in calls)


def _count_concurrent(history: RunHistory) -> int:
    """Return the most calls that ran at one moment."""
    moments: list[tuple[float, int]] = []
    for call in history.calls:
        if call.status not in (REFUSED, "queued") and (call.ended is None or call.seconds > 0):
            began = call.began if call.ended is None else min(call.began, call.ended)
            moments += [(began, 1), (call.ended or float("inf"), -1)]
    most = now = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def get_duration_seconds(run: AgentRun) -> float:
    if run.duration_ms is not None:
        return safe_int(run.duration_ms) / 1000
    until: datetime = run.ended_at or timezone.now()
    return max(0.0, (until - run.started_at).total_seconds())


# -- usage ----------------------------------------------------------------------------------------

_SOURCE_LABELS = {
    "provider": "Counted by the provider",
    "estimate": "Estimated",
    "mixed": "Partly estimated",
    "": "Not reported",
}


@dataclass(slots=True)
class SourceUsage:
    """Tokens that one source has told of."""

    label: str
    turns: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    subagent: int = 0

    @property
    def total(self) -> int:
        return self.tokens_in + self.tokens_out + self.subagent


def sum_usage_by_source(history: RunHistory) -> list[SourceUsage]:
    """Return tokens by who counted them."""
    found: dict[str, SourceUsage] = {}
    for turn in history.turns:
        if turn.ended is not None:
            source = turn.usage_source
            row = found.setdefault(source, SourceUsage(_SOURCE_LABELS.get(source, source)))
            row.turns += 1
            row.tokens_in += turn.tokens_in
            row.tokens_out += turn.tokens_out
            row.subagent += turn.subagent_tokens
    return list(found.values())
