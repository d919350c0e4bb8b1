"""A behaviour tried on one of somebody's own runs, as far as its recording can tell."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from agents.audit.event_codec import READ_ERRORS
from agents.behaviour_replay import fold_turns
from agents.core.behaviours import Behaviour
from agents.core.behaviours.rehearsal import Rehearsal, RehearsedTurn, rehearse
from agents.core.behaviours.trace import BehaviourTrace
from agents.core.chunks import PARSE_ERRORS
from agents.core.config import AgentConfig, ConfigError
from agents.core.reasons import get_reason
from agents.core.replay.engine import replay
from agents.ledger import load_chunks
from agents.models import AgentRun
from agents.projects.queries import runs_for
from agents.replay_source import load_recordings
from agents.stored_texts import TextError
from agents.tools import registry
from agents.web.throttling import check_rate

MAX_LISTED_RUNS = 20


class TrialRefused(TextError):
    """There is no such run to try it on."""


@dataclass(frozen=True, slots=True)
class BehaviourTrial:
    """What there is to say of it."""

    run: AgentRun
    trace: BehaviourTrace
    sentence: str
    detail: str
    tree: str
    verdict: str
    """What the checkpoints would have said under its decision tree, if that is another one."""


def list_runs_to_try(user: User) -> list[AgentRun]:
    """Return the newest runs that have ended and whose words are kept."""
    ended = runs_for(user).filter(outcome__isnull=False).exclude(question="")
    return list(ended.order_by("-started_at", "pk").only("pk", "question")[:MAX_LISTED_RUNS])


def try_on_run(user: User, behaviour: Behaviour, run_id: str) -> BehaviourTrial:
    """Return how a behaviour would have gone through a run. Throttled: not now."""
    check_rate(user, "try")
    run = _find_run(user, run_id)
    try:
        config = AgentConfig.build(run.config)
    except ConfigError:
        config = AgentConfig()
    turns = _load_turns(run, behaviour)
    found = rehearse(
        behaviour, turns, question=run.question, config=config, writes=registry.tool_writes
    )
    sentence, detail = _describe(found, len(turns))
    verdict = _judge(run, behaviour.decision_tree)
    return BehaviourTrial(run, found.trace, sentence, detail, behaviour.decision_tree, verdict)


def _find_run(user: User, run_id: str) -> AgentRun:
    try:
        key = UUID(run_id)
    except ValueError:
        raise TrialRefused("Choose one of your runs to try it on.") from None
    run = runs_for(user).filter(pk=key, outcome__isnull=False).exclude(question="").first()
    if run is None:
        raise TrialRefused("That run no longer exists. Choose another one.")
    return run


def _load_turns(run: AgentRun, behaviour: Behaviour) -> list[RehearsedTurn]:
    try:
        return fold_turns(run, load_chunks(run.pk), behaviour)
    except (*READ_ERRORS, *PARSE_ERRORS):
        raise TrialRefused("That run is damaged. Choose another one.") from None


def _describe(found: Rehearsal, recorded: int) -> tuple[str, str]:
    """Return a sentence, and what it means."""
    iterations = f"{found.turns} iteration{'' if found.turns == 1 else 's'}"
    if found.why_unknown and not found.turns:
        return "It differs from that run before the first answer.", found.why_unknown
    if found.why_unknown:
        return (
            f"It follows that run for {iterations}; what comes next is unknown.",
            found.why_unknown,
        )
    label = get_reason(found.reason).label
    if found.turns == recorded:
        return f"It follows the whole run, {iterations}, and ends: {label}.", ""
    return f"It ends after {iterations} of {recorded}: {label}.", ""


def _judge(run: AgentRun, tree: str) -> str:
    """Say what the checkpoints would have decided under another decision tree."""
    if tree == run.tree:
        return ""
    verdict = next(
        (replay(found, tree=tree) for found in load_recordings([run.pk], tree=tree)), None
    )
    if verdict is None:
        return ""
    match verdict.kind:
        case "same":
            return "the run ends as it did."
        case "unknown":
            return verdict.why_unknown
        case kind:
            ends = get_reason(verdict.reason).label if verdict.reason else "how is unknown"
            return f"the run ends {kind}: {ends}."
