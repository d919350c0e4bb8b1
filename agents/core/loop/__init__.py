"""The loop of one run, in the order of its calls.

`run` strings turns together, or lets a behaviour do so (`drivers`). The `engine` decides at each
checkpoint (`decisions.checkpoint`), begins a `turn`, which asks the model (`model_call`), plans
what it called (`tool_plan`) and runs it (`tool_calls`), and folds the turn into the state.
`context` is the run's working memory, `inbox` where it waits, `prompt` what the model reads,
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
from agents.core.loop.drivers import DRIVERS, choose_driver, get_driver
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
    "DRIVERS",
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
    "choose_driver",
    "choose_strictest",
    "get_driver",
    "minimum_budgets",
    "run",
]
