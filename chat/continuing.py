"""Going on from a run that ended early, with more room if need be."""

from uuid import UUID

from django.contrib.auth.models import User

from agents.core.config import LIMITS, AgentConfig
from agents.core.decision import TREES
from agents.core.guard import TreeGuard
from agents.core.reasons import Outcome
from agents.models import AgentRun
from agents.models.changes import change_limits
from chat import conversations
from chat.asking import AS_SET, Asking, How, in_mode_of, under
from chat.errors import CannotDo

GO_ON = "Continue from where you stopped."
LIMIT_OF = {
    "max_iterations": "max_iterations",
    "token_budget": "token_budget",
    "timeout": "timeout_seconds",
}
"""Reasons that a higher limit helps against, and which one."""


def continue_run(
    user: User,
    context_id: UUID,
    *,
    question: str = GO_ON,
    how: How = AS_SET,
    save_as_default: bool = False,
) -> Asking:
    """A child of an exchange whose run ended early, linked to that run.

    The limits are the user's with `how.overrides` on top, for this continuation only;
    `save_as_default` makes the overrides the user's own when the run starts.
    """
    exchange = conversations.get_exchange(user, context_id)
    refuse_unless_ended_early(exchange.run)
    asking = under(
        user,
        exchange.conversation,
        exchange.pk,
        question,
        in_mode_of(exchange.run, how),
        continued_from=exchange.run_id,
    )
    if not (save_as_default and how.overrides):
        return asking

    def attach(run: AgentRun) -> None:
        asking.attach(run)
        change_limits(user, how.overrides)

    return Asking(asking.request, attach)


def refuse_unless_ended_early(run: AgentRun) -> None:
    if run.outcome is None:
        raise CannotDo("That run has not ended yet. Wait for it, or stop it.")
    if run.outcome == Outcome.COMPLETED:
        raise CannotDo("That answer is complete. Ask a new question instead.")


def proposal(run: AgentRun) -> dict[str, int]:
    """The limit to raise, and to what, so that a limited run gets on: twice as far as it came.

    Empty when no higher limit would help: another reason, the bound reached, a mode that holds
    the limit itself.
    """
    name = LIMIT_OF.get(run.reason)
    if name is None:
        return {}
    had = int(run.config[name])
    raised = min(2 * had, LIMITS[name].maximum)
    return (
        {name: raised} if _allowed(run.tree, AgentConfig.build({name: raised}), name) > had else {}
    )


def _allowed(tree: str, config: AgentConfig, name: str) -> int:
    """What is left of a limit once the mode has had its say."""
    if tree not in TREES:
        return int(getattr(config, name))
    made = TREES.get(tree)(config)  # type: ignore[call-arg]
    return int(getattr(TreeGuard(made, config).config, name))
