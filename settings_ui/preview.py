"""What the limits mean together, and how the user's own last runs did, in sentences."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from agents.core.config import AgentConfig
from agents.core.reasons import Outcome
from agents.core.state import AgentState
from agents.models import AgentRun

LOOKED_AT = 20


def preview(config: AgentConfig) -> str:
    """When a run is warned, and what ends it."""
    end = (
        f"a run ends after {_counted(config.max_iterations, 'turn')}, {config.token_budget:,} "
        f"tokens or {config.timeout_seconds:,} seconds, whichever comes first."
    )
    return f"{_warning(config)}; {end}"


def _warning(config: AgentConfig) -> str:
    if config.max_iterations == 1:
        return "With one turn there is no warning about turns"
    state = AgentState(user_id="", project_id="", config=config)
    turns = _counted(state.warn_at_turn, "turn")
    tokens = config.token_budget * config.token_warning_percent // 100
    return f"About {turns} before the first warning, or {tokens:,} tokens"


@dataclass(frozen=True)
class History:
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
        used = f"{turns} turn{'' if turns == '1' else 's'} and {_round(self.tokens):,} tokens"
        return f"{yours} used {used}{average}; {self._limits()}."

    def _limits(self) -> str:
        if self.runs == 1:
            return "it hit a limit" if self.limited else "it hit no limit"
        return f"{self.limited or 'none'} hit a limit"


def history(user: User) -> History:
    ended = AgentRun.objects.filter(user=user, outcome__isnull=False).order_by("-started_at")
    rows = list(ended.values_list("turns", "tokens_in", "tokens_out", "outcome")[:LOOKED_AT])
    many = max(len(rows), 1)
    return History(
        runs=len(rows),
        turns=sum(row[0] for row in rows) / many,
        tokens=sum(row[1] + row[2] for row in rows) / many,
        limited=sum(row[3] == Outcome.LIMITED for row in rows),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _round(tokens: float) -> int:
    """To two figures: nobody compares the rest."""
    digits = len(str(round(tokens))) - 2
    return round(round(tokens), -digits) if digits > 0 else round(tokens)
