"""What the limits mean together, and how the user's own last runs did, in sentences."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from agents.core.config import AgentConfig
from agents.core.reasons import Outcome
from agents.core.state import AgentState
from agents.models import AgentRun
from agents.web.formatting import format_count

MAX_RECENT_RUNS = 20


def describe_limits(config: AgentConfig) -> str:
    """Return when a run is warned, and what ends it."""
    end = (
        f"a run ends after {format_count(config.max_iterations, 'iteration')}, "
        f"{config.token_budget:,} tokens or {config.timeout_seconds:,} seconds, "
        "whichever comes first."
    )
    return f"{_describe_warning(config)}; {end}"


def _describe_warning(config: AgentConfig) -> str:
    if config.max_iterations == 1:
        return "With one iteration there is no warning about iterations"
    state = AgentState(user_id="", project_id="", config=config)
    turns = format_count(state.warn_at_turn, "iteration")
    tokens = config.token_budget * config.token_warning_percent // 100
    return f"About {turns} before the first warning, or {tokens:,} tokens"


@dataclass(frozen=True)
class RecentRuns:
    """The newest runs that have ended."""

    runs: int
    turns: float
    tokens: float
    limited: int

    def __str__(self) -> str:
        if not self.runs:
            return "You have no finished runs yet to compare with."
        turns = f"{self.turns:.1f}".removesuffix(".0")
        average = " on average" if self.runs > 1 else ""
        yours = f"Your last {self.runs} runs" if self.runs > 1 else "Your last run"
        tokens = f"{_round_tokens(self.tokens):,} tokens"
        used = f"{turns} iteration{'' if turns == '1' else 's'} and {tokens}"
        return f"{yours} used {used}{average}; {self._describe_limited()}."

    def _describe_limited(self) -> str:
        if self.runs == 1:
            return "it hit a limit" if self.limited else "it hit no limit"
        return f"{self.limited or 'none'} hit a limit"


def get_recent_runs(user: User) -> RecentRuns:
    ended = AgentRun.objects.filter(user=user, outcome__isnull=False).order_by("-started_at")
    rows = list(ended.values_list("turns", "tokens_in", "tokens_out", "outcome")[:MAX_RECENT_RUNS])
    many = max(len(rows), 1)
    return RecentRuns(
        runs=len(rows),
        turns=sum(row[0] for row in rows) / many,
        tokens=sum(row[1] + row[2] for row in rows) / many,
        limited=sum(row[3] == Outcome.LIMITED for row in rows),
    )


def _round_tokens(tokens: float) -> int:
    """Round to two figures: nobody compares the rest."""
    digits = len(str(round(tokens))) - 2
    return round(round(tokens), -digits) if digits > 0 else round(tokens)
