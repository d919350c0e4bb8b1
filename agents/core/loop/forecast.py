"""What a request is forecast to take, before it is made and before there is a run."""

from dataclasses import dataclass

from agents.core.tokens import MIN_ANSWER_TOKENS, TURN_CHARS, TokenBudget

WRAP_UP_NOTE_CHARS = 600
"""Room for what is put into the conversation before a last answer."""


def wrap_up_tokens(budget: TokenBudget, prompt_chars: int) -> int:
    """Forecast a tool-free request and a short answer to it."""
    return budget.estimate(prompt_chars + WRAP_UP_NOTE_CHARS) + MIN_ANSWER_TOKENS


def working_tokens(budget: TokenBudget, prompt_chars: int, tool_chars: int) -> int:
    """Forecast a working turn, and the wrap-up that must still fit after it."""
    working = budget.estimate(prompt_chars + tool_chars) + MIN_ANSWER_TOKENS
    return working + budget.estimate(TURN_CHARS) + wrap_up_tokens(budget, prompt_chars)


@dataclass(frozen=True, slots=True)
class MinimumBudgets:
    """The token budgets below which a new run cannot answer, and cannot use tools.

    None: no budget would do, because the model's window is too small.
    """

    answer: int | None
    tools: int | None


def minimum_budgets(prompt_chars: int, tool_chars: int, window: int) -> MinimumBudgets:
    """Return what the loop will ask of a run that begins with a prompt and tools of these sizes."""
    meter = TokenBudget(0, window, 0)
    answer = wrap_up_tokens(meter, prompt_chars)
    offered = meter.estimate(prompt_chars + tool_chars) + MIN_ANSWER_TOKENS
    return MinimumBudgets(
        answer=answer if answer <= window else None,
        tools=working_tokens(meter, prompt_chars, tool_chars) if offered <= window else None,
    )
