"""What controls a run: rules, subscribers and state, as they were when it started."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.core.behaviours import Behaviour
from agents.core.loop.holds import AskMode
from agents.core.notify import Subscriber
from agents.core.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class KeptReminder:
    """Words that an earlier run has kept for this one."""

    id: int
    text: str
    category: str = ""
    priority: str = "normal"


ApprovalDecision = Literal["approved", "refused", "differently"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCall:
    """A call that an earlier run has held, and what was decided about it."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    decision: ApprovalDecision
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """What somebody has decided about a run that was paused, which this one goes on from."""

    decision: ApprovalDecision
    words: str = ""
    """What is to be done differently."""
    calls: tuple[HeldCall, ...] = ()
    snapshot: Mapping[str, Any] | None = None
    """Where its behaviour stood, if that had asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Subscribers and rules of one run, with what they know from runs before.

    Nothing that is edited changes it while the run goes on.
    """

    subscribers: tuple[Subscriber, ...] = ()
    """Those that speak besides the loop's own notices, which nothing switches off."""
    rules: tuple[Rule, ...] = ()
    behaviour: Behaviour | None = None
    """What is done next; None: what the site says."""
    resume: Resume | None = None
    """What was decided, where the run goes on from one that had asked."""
    states: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What rules remember from earlier runs, by their keys."""
    withheld: Set[str] = frozenset()
    """Tools that rules have taken away: of a subagent, also what they take away meanwhile."""
    asks: Mapping[str, AskMode] = field(default_factory=dict)
    """When tools that write ask a person first, by their names; those that are not named do not."""
    has_consent: bool = False
    """Whether somebody has agreed already, in a run that this one goes on from."""
    can_ask: bool = True
    """Whether there is somebody to ask: a subagent has nobody."""
    reminders: tuple[KeptReminder, ...] = ()
    keeps_reminders: bool = False
    """Whether the run may keep words for a later one."""
    note_count: int = 0
    """Of the project, if a rule asks for it."""
    digest: str = ""
    """Of all texts and modes: two runs with the same one were held to the same."""


PLAIN = Control()
"""The loop's own notices, and nothing else."""
