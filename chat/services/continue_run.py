"""Going on from a run that ended early, with more room if need be."""

from uuid import UUID

from django.contrib.auth.models import User

from agents.core.reasons import Outcome
from agents.models import AgentRun
from agents.settings_service import update_limits
from chat.conversations import queries
from chat.errors import InvalidAction
from chat.services.ask import DEFAULT_OPTIONS, PreparedRun, RunOptions, ask_under

CONTINUE_QUESTION = "Continue from where you stopped."


def continue_run(
    user: User,
    context_id: UUID,
    *,
    question: str = CONTINUE_QUESTION,
    options: RunOptions = DEFAULT_OPTIONS,
    save_as_default: bool = False,
) -> PreparedRun:
    """Prepare a child of an exchange whose run ended early, linked to that run.

    The limits are the user's with `options.overrides` on top, for this continuation only;
    `save_as_default` makes the overrides the user's own when the run starts.
    """
    check_can_continue(queries.get_exchange(user, context_id).run)
    asking = follow_up(user, context_id, question, options)
    if not (save_as_default and options.overrides):
        return asking

    def attach(run: AgentRun) -> None:
        asking.attach(run)
        update_limits(user, options.overrides)

    return PreparedRun(asking.request, attach)


def follow_up(
    user: User, context_id: UUID, question: str, options: RunOptions = DEFAULT_OPTIONS
) -> PreparedRun:
    """Prepare a child of an exchange, linked to its run, in the mode of that run."""
    exchange = queries.get_exchange(user, context_id)
    return ask_under(
        user,
        exchange.conversation,
        exchange.pk,
        question,
        options,
        like=exchange.run,
        continued_from=exchange.run_id,
    )


def check_can_continue(run: AgentRun) -> None:
    if run.outcome is None:
        raise InvalidAction("That run has not ended yet. Wait for it, or stop it.")
    if run.outcome == Outcome.COMPLETED:
        raise InvalidAction("That answer is complete. Ask a new question instead.")
