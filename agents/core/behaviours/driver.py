"""Drives a run by a behaviour: what is to be done next, until it has ended, is halted or fails.

Turns are the run's: a behaviour says when they are opened and how far they go, and no more. What
takes time is awaited by whoever takes the parts.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.core.behaviours import composites, leaves, own_calls
from agents.core.behaviours.behaviour import Behaviour
from agents.core.behaviours.path import PathRecorder
from agents.core.behaviours.run_interface import (
    BehaviourVisitor,
    Resumption,
    RunInterface,
    StepChunks,
)
from agents.core.behaviours.signatures import MAX_NAME
from agents.core.behaviours.snapshot import InvalidSnapshot, restore_snapshot, take_snapshot
from agents.core.behaviours.walk import BehaviourFailed, Visit, Walk

logger = logging.getLogger(__name__)
CLEANUP_SECONDS = 1.0
VISITS: Mapping[str, Visit] = {
    "action": leaves.visit_action,
    "approve": leaves.visit_approve,
    "call": own_calls.visit_call,
    "condition": leaves.visit_condition,
    "decorator": composites.visit_decorator,
    "fail": leaves.visit_fail,
    "for-each": composites.visit_for_each,
    "llm-call": leaves.visit_request,
    "notify": leaves.visit_notify,
    "parallel": own_calls.visit_parallel,
    "repeater": composites.visit_repeater,
    "set": leaves.visit_set,
    "stop": leaves.visit_stop,
    "subtree": composites.visit_subtree,
    "succeed": leaves.visit_succeed,
    "turn": leaves.visit_turn,
}
STARTS_AGAIN = "The behaviour {name} has changed since it asked, so it starts again."
IS_GONE = "The behaviour {asked} that asked is not there any more, so {name} drives this run."


class BehaviourDriver:
    """One behaviour in one run."""

    def __init__(
        self,
        behaviour: Behaviour,
        run: RunInterface,
        path: PathRecorder | None = None,
        visitors: Sequence[BehaviourVisitor] = (),
    ) -> None:
        self._behaviour = behaviour
        self._run = run
        self._watched = (path or PathRecorder(), visitors)
        self._walk = Walk(behaviour, run, VISITS, *self._watched)
        self.snapshot: Mapping[str, Any] = {}
        """Where it stood when it was halted."""

    def drive(self, resume: Resumption | None = None) -> Iterator[StepChunks]:
        """Yield what is to be done, part by part. What is left of the run then is not its own."""
        run = self._run
        try:
            yield from self._begin(resume)
            while (parts := self._walk.advance()) is not None:
                yield from parts
            if self._walk.frames:
                own_calls.keep_results(self._walk)
                self.snapshot = take_snapshot(self._walk)
            elif not run.is_halted:
                run.end_behaviour(is_declined=self._walk.is_declined)
        except BehaviourFailed as error:
            yield run.report_failure(self._behaviour.name, str(error))
        finally:
            self._walk.halt()

    def _begin(self, resume: Resumption | None) -> Iterator[StepChunks]:
        """Start at the first node, or at the one that had asked."""
        snapshot = resume.snapshot if resume is not None else None
        if resume is not None and snapshot:
            try:
                restore_snapshot(self._walk, snapshot)
            except InvalidSnapshot:
                self._walk.halt()
                self._walk = Walk(self._behaviour, self._run, VISITS, *self._watched)
                yield self._run.notify(self._explain_start(snapshot))
            else:
                self._go_on(resume)
                return
        self._walk.start(self._behaviour.root)

    def _explain_start(self, snapshot: Mapping[str, Any]) -> str:
        name = self._behaviour.name
        asked = str(snapshot.get("name", name))[:MAX_NAME]
        return (STARTS_AGAIN if asked == name else IS_GONE).format(name=name, asked=asked)

    def _go_on(self, resume: Resumption) -> None:
        """Go on at the node that had asked, or after the one whose calls were held: those of the
        behaviour have their results, and a turn with calls is a failure."""
        last = self._walk.frames[-1]
        match last.node.kind:
            case "approve":
                self._walk.decision = (resume.decision, resume.words)
            case "call" | "parallel":
                is_approved = resume.decision == "approved"
                own_calls.resume_calls(self._walk, last, is_approved=is_approved)
            case _:
                self._walk.leave(False)

    def clean_up(self) -> Iterator[StepChunks]:
        """Yield what is done at the end of the run, which has little time for it."""
        if self._behaviour.cleanup is None:
            return
        walk = Walk(self._behaviour, self._run, VISITS, PathRecorder(), board=self._walk.board)
        walk.ends_at = self._run.now + CLEANUP_SECONDS
        try:
            walk.start(self._behaviour.cleanup)
            while (parts := walk.advance()) is not None:
                yield from parts
        except BehaviourFailed as error:
            logger.warning("the end of %s failed: %s", self._behaviour.name, error)
