"""Where a run stands in its behaviour: one explicit stack, which is all that changes.

No node is visited again because of what another one does, and none knows who watches. What takes
time is handed out, to be done before the walk goes on; so a behaviour never spins: one that visits
many nodes and has nothing done is stuck.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode, BoundValue, ValueScope
from agents.core.behaviours.blackboard import Blackboard, NotWritten
from agents.core.behaviours.driven_run import BehaviourVisitor, DrivenRun, StepChunks
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


class Frame:
    """A node that is being visited. Many are made: what most of them never have is the class's."""

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
    said: set[int] | None = None
    """Nodes below that have told the model what they have to say, in this phase."""

    def __init__(self, node: BehaviourNode, scope: NodeScope) -> None:
        self.node = node
        self.scope = scope
        self.inner = scope
        """Of its children."""


Move = BehaviourNode | bool | Iterable[StepChunks]
"""What comes next: a child, the node's end, or something to be done first."""
Visit = Callable[["Walk", Frame], Move]


class Walk:
    """One way through a behaviour."""

    def __init__(
        self,
        behaviour: Behaviour,
        run: DrivenRun,
        visits: Mapping[str, Visit],
        visitors: Sequence[BehaviourVisitor] = (),
        board: Blackboard | None = None,
    ) -> None:
        self.behaviour = behaviour
        self.run = run
        self.board = board or Blackboard(behaviour.schema)
        self.frames: list[Frame] = []
        self.status: bool | None = None
        """How the child that was left has ended."""
        self.decision: tuple[str, str] | None = None
        """What somebody has decided about the node that had asked, and their words."""
        self.ends_at: float | None = None
        """Until when it may go on, whatever becomes of the run: of what is done at its end."""
        self.batches = 0
        """How often it has called tools itself."""
        self.notices = 0
        """How often it has told the user something."""
        self._visits = visits
        self._on_enter = [visitor.enter for visitor in visitors]
        self._on_leave = [visitor.leave for visitor in visitors]
        self._visited = 0
        self._steps_done = 0
        self._deadlines = 0

    def start(self, root: BehaviourNode) -> None:
        self.push(root, NodeScope(self.board))

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
            frame = frames[-1]
            move = self._leave_late() if self._deadlines else None
            if move is None:
                try:
                    move = visits[frame.node.kind](self, frame)
                except (NotWritten, Unanswerable):  # a value cannot be kept, or not be had
                    move = False
            if move is True or move is False:
                self.pop(move)
            elif type(move) is BehaviourNode:
                self.push(move, frame.inner)
            else:
                frame.stage += 1
                return cast(Iterable[StepChunks], move)
        return None

    # -- the stack --------------------------------------------------------------------------------

    def push(self, node: BehaviourNode, scope: NodeScope) -> Frame:
        frame = Frame(node, scope)
        self.frames.append(frame)
        self.status = None
        for enter in self._on_enter:
            enter(node)
        return frame

    def pop(self, succeeded: bool | None) -> None:
        frame = self.frames.pop()
        self.status = succeeded
        if frame.deadline is not None:
            self._deadlines -= 1
            self._limit_time()
        for leave in self._on_leave:
            leave(frame.node, succeeded)

    def halt(self) -> None:
        """Leave all nodes that are still visited."""
        while self.frames:
            self.pop(None)

    # -- time -------------------------------------------------------------------------------------

    def set_deadline(self, frame: Frame, seconds: float) -> None:
        """Give a node so many seconds, and never more than those around it have."""
        frame.deadline = self.run.now + seconds
        self._deadlines += 1
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
            for _ in below:
                self.pop(None)
            return False
        return None

    # -- values -----------------------------------------------------------------------------------

    def get_names(self, scope: NodeScope) -> dict[str, Any]:
        """Return what expressions and templates see."""
        run = self.run
        facts = run.read_facts() if self.behaviour.reads_facts else {}
        return {"question": run.question, **facts, **scope.board.get_names(scope.items)}

    def evaluate(self, value: BoundValue, scope: NodeScope) -> Any:
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
