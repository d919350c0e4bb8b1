"""The loop of one run, in the order of its calls.

`run` decides at each checkpoint (`decisions.checkpoint`), begins a turn (`turn`), which asks the
model (`model_call`), plans what it called (`tool_plan`) and runs it (`tool_calls`), and folds the
turn into the state. `context` is the run's working memory, `inbox` where it waits, `prompt` what
the model reads, `explanation` what stands under an answer that a limit cut.
"""

from agents.core.loop.run import ConversationInput, run

__all__ = ["ConversationInput", "run"]
