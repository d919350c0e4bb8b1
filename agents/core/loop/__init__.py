"""The loop of one run, in the order of its calls.

`run` strings turns together, or lets a behaviour do so: the one that was chosen, or the
`default_behaviour`. The `engine` decides at each checkpoint (`decisions.checkpoint`), begins a
`turn`, which asks the model (`model_call`), plans what it called (`tool_plan`) and runs it
(`tool_calls`), and folds the turn into the state; `behaviour_engine` lets a behaviour do so.
`context` is the run's working memory, `inbox` where it waits, `timers` when it is woken there,
`prompt` what the model reads, `offered_tools` what it may call,
`explanation` what stands under an answer that a limit cut, `control` what people have switched on
for the run, `live_rules` what rules do in it, `tap` hands on its events.
"""

from agents.core.loop.context import GRACE_SECONDS
from agents.core.loop.control import (
    PLAIN,
    ApprovalDecision,
    Control,
    HeldCall,
    KeptReminder,
    Resume,
)
from agents.core.loop.default_behaviour import choose_default_behaviour, get_default_behaviour
from agents.core.loop.forecast import MinimumBudgets, minimum_budgets
from agents.core.loop.holds import ASK_MODES, AskMode, choose_strictest
from agents.core.loop.prompt import (
    MAX_NOTES_LISTED,
    MAX_THREADS_LISTED,
    ConversationInput,
    bound_names,
)
from agents.core.loop.run import run
from agents.core.loop.tool_plan import PlannedCall, assistant_message

__all__ = [
    "ASK_MODES",
    "GRACE_SECONDS",
    "MAX_NOTES_LISTED",
    "MAX_THREADS_LISTED",
    "PLAIN",
    "ApprovalDecision",
    "AskMode",
    "Control",
    "ConversationInput",
    "HeldCall",
    "KeptReminder",
    "MinimumBudgets",
    "PlannedCall",
    "Resume",
    "assistant_message",
    "bound_names",
    "choose_default_behaviour",
    "choose_strictest",
    "get_default_behaviour",
    "minimum_budgets",
    "run",
]
