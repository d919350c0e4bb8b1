"""A run's position in its behaviour: one explicit stack, which is all that changes.

No node is visited again because of what another one does, and none knows who watches. What takes
time is handed out, to be done before the walk goes on; so a behaviour never spins: one that visits
many nodes and has nothing done is stuck.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.core.behaviours.behaviour import (
    Behaviour,
    BehaviourNode,
    BoundValue,
    ValueScope,
    write_path,
)
from agents.core.behaviours.blackboard import Blackboard, NotWritten
from agents.core.behaviours.path import NO_VALUE, NodeFailed, PathRecorder, add_reason
from agents.core.behaviours.run_interface import BehaviourVisitor, RunInterface, StepChunks
from agents.core.control.condition import Condition
from agents.core.control.evaluation import Unanswerable
from agents.core.control.template import Template

MAX_VISITS = 1_000
"""So many, with nothing done in between, and a behaviour is stuck."""
_TURNS = frozenset({"call", "decorator", "parallel", "turn"})
"""Nodes that may have opened a turn."""


class BehaviourFailed(Exception):
    """A behaviour cannot go on. The message says why, without the words of a run."""


@dataclass(frozen=True, slots=True)
class NodeScope:
    """What is known where a node stands: a blackboard, and the items of loops around."""

    board: Blackboard
    items: Mapping[str, Any] = field(default_factory=dict)

    def read(self, key: str) -> Any:
        return self.items[key] if key in self.items else self.board.read(key)


@dataclass(slots=True, eq=False)
class Frame:
    """A node that is being visited."""

    node: BehaviourNode
    scope: NodeScope
    inner: NodeScope
    """Of its children."""
    index: int = 0
    """Of the next child or item, or the rounds of a repeater."""
    stage: int = 0
    """How often something was done for it."""
    items: list[Any] | None = None
    """Of a loop over a list."""
    results: list[Any] | None = None
    """What its calls have come to."""
    decorator: Any = None
    deadline: float | None = None
    then: "BehaviourNode | bool | None" = None
    """What comes after that which is done for it, if nothing but its end is waited for."""
    failures: int = 0
    """Requests below it that failed, if it is a repeater."""
    said: set[int] | None = None
    """Nodes below that have told the model what they have to say, in this phase."""


Move = BehaviourNode | bool | Iterable[StepChunks]
"""What comes next: a child, the node's end, or something to be done first."""
Visit = Callable[["Walk", Frame], Move]


class Walk:
    """One way through a behaviour."""

    def __init__(
        self,
        behaviour: Behaviour,
        run: RunInterface,
        visits: Mapping[str, Visit],
        path: PathRecorder,
        visitors: Sequence[BehaviourVisitor] = (),
        board: Blackboard | None = None,
    ) -> None:
        self.behaviour = behaviour
        self.run = run
        self.board = board or Blackboard(behaviour.schema)
        self.frames: list[Frame] = []
        self.status: bool | None = None
        """How the child that was left has ended."""
        self.has_lost_request = False
        """Whether a request failed, and no node around it has succeeded or tried another since."""
        self.decision: tuple[str, str] | None = None
        """What somebody has decided about the node that had asked, and their words."""
        self.declined_at: int | None = None
        """Number of steps that were done when a person declined; None if nobody has."""
        self.ends_at: float | None = None
        """Until when it may go on, whatever becomes of the run: of what is done at its end."""
        self.batches = 0
        """How often it has called tools itself."""
        self.notices = 0
        """How often it has told the user something."""
        self._visits = visits
        self._transitions = behaviour.transitions
        self._scope = NodeScope(self.board)
        self._path = path
        path.write_open = self._write_open
        self._visitors = visitors
        self._visited = 0
        self._steps_done = 0
        self._deadlines = 0

    def start(self, root: BehaviourNode) -> None:
        self.enter(self._transitions.list_entered(root))

    def advance(self) -> Iterable[StepChunks] | None:
        """Go on to what is to be done next; None: there is nothing more. Only what is done halts a
        run, so that is asked once."""
        if self.ends_at is None and self.run.is_halted:
            return None
        if self._steps_done != self.run.steps_done:
            self._steps_done, self._visited = self.run.steps_done, 0
        try:
            return self._visit_nodes()
        except BehaviourFailed:
            raise
        except Exception as error:  # the behaviour's fault, and not the run's
            raise BehaviourFailed(type(error).__name__) from error

    def _visit_nodes(self) -> Iterable[StepChunks] | None:
        """Visit nodes until something is to be done. Much of what a behaviour costs is here."""
        frames, visits, ends_at = self.frames, self._visits, self.ends_at
        while frames and (ends_at is None or self.run.now < ends_at):
            self._visited += 1
            if self._visited > MAX_VISITS:
                raise BehaviourFailed("it went round and round and did nothing")
            frame, why = frames[-1], ""
            move = self._leave_late() if self._deadlines else None
            if move is None and (move := frame.then) is not None:
                frame.then = None
            elif move is None:
                try:
                    move = visits[frame.node.kind](self, frame)
                except (NotWritten, NodeFailed) as error:
                    move, why = False, error.why
                except Unanswerable:
                    move, why = False, NO_VALUE
            if move is True or move is False:
                self.leave(move, why)
            elif type(move) is BehaviourNode:
                self.enter(self._transitions.list_entered(move))
            else:
                frame.stage += 1
                return move
        return None

    @property
    def is_declined(self) -> bool:
        """Whether a person declined, and nothing was done since."""
        return self.declined_at == self.run.steps_done

    # -- the stack --------------------------------------------------------------------------------

    def enter(self, nodes: Sequence[BehaviourNode]) -> Frame:
        """Enter nodes, each in the one before it, and visit the last."""
        frames = self.frames
        scope = frames[-1].inner if frames else self._scope
        frame = Frame(nodes[-1], scope, scope)
        frames.append(frame)
        self.status, self.has_lost_request = None, False
        for visitor in self._visitors:
            visitor.enter(nodes)
        return frame

    def leave(self, succeeded: bool, why: str = "") -> None:
        """Leave the node that is visited, and enter what follows it."""
        frame = self.frames.pop()
        if frame.deadline is not None:
            self._end_deadline()
        left, entered, path = self._transitions[frame.node.number, succeeded]
        self._path.note(path if not why else add_reason(path, why))
        for visitor in self._visitors:
            visitor.leave(left, succeeded)
        if entered:
            self.enter(entered)
        else:
            self.status = succeeded
            self.has_lost_request = self.has_lost_request and not succeeded

    def halt(self, above: int = 0) -> None:
        """Leave all nodes that are still visited, or only those above a depth."""
        while len(self.frames) > above:
            frame = self.frames.pop()
            if frame.deadline is not None:
                self._end_deadline()
            left = tuple(self._transitions.list_around(frame.node))
            self._path.note(write_path(left, None))
            for visitor in self._visitors:
                visitor.leave(left, None)
        if not above:
            self._path.write_open = str  # nothing is open, and nothing refers back here

    def _write_open(self) -> str:
        around = self._transitions.list_around
        return " ".join(write_path(around(frame.node), None) for frame in reversed(self.frames))

    # -- time -------------------------------------------------------------------------------------

    def set_deadline(self, frame: Frame, seconds: float) -> None:
        """Limit the seconds of a node, never to more than its ancestors have."""
        frame.deadline = self.run.now + seconds
        self._deadlines += 1
        self._limit_time()

    def _end_deadline(self) -> None:
        self._deadlines -= 1
        self._limit_time()

    def _limit_time(self) -> None:
        moments = [one.deadline for one in self.frames if one.deadline is not None]
        self.run.limit_time(min(moments, default=None))

    def _leave_late(self) -> Move | None:
        """Leave what is below a node whose time is over; a turn that it has opened is folded."""
        for at, frame in enumerate(self.frames):
            is_late = frame.deadline is not None and self.run.now >= frame.deadline
            if not is_late or frame.node.kind != "decorator":
                continue
            below = self.frames[at + 1 :]
            if self.run.next_step and any(one.node.kind in _TURNS for one in below):
                return self.run.play("fold")
            self.halt(above=at + 1)
            return False
        return None

    # -- values -----------------------------------------------------------------------------------

    def get_names(self, scope: NodeScope) -> dict[str, Any]:
        """Return what expressions and templates see."""
        run = self.run
        facts = run.read_facts() if self.behaviour.reads_facts else {}
        return {"question": run.question, **facts, **scope.board.get_names(scope.items)}

    def evaluate(self, value: BoundValue, scope: NodeScope) -> Any:
        if value.key:
            return scope.read(value.key)
        names = {} if value.is_literal else self.get_names(scope)
        return value.get(ValueScope(names, self.run.config))

    def render(self, template: Template, scope: NodeScope) -> str:
        return template.render(self.get_names(scope), str)

    def holds(self, condition: Condition) -> bool:
        """Return whether a condition holds where the walk stands. Raises Unanswerable."""
        return condition.find_false_part(self.get_names(self.frames[-1].scope)) is None

    # -- what registered words do -----------------------------------------------------------------

    def fill_prompt(self) -> None:
        self.run.fill_prompt()

    def has_calls(self) -> bool:
        return self.run.has_calls()
