"""Composite nodes: decide which child is visited next, and with what result."""

from agents.core.behaviours.behaviour import BehaviourNode, BoundValue
from agents.core.behaviours.blackboard import Blackboard
from agents.core.behaviours.placement import CHECKPOINT
from agents.core.behaviours.signatures import MAX_ITERATIONS
from agents.core.behaviours.walk import Frame, Move, NodeScope, Walk

TIMEOUT = "timeout"


def visit_repeater(walk: Walk, frame: Frame) -> Move:
    """Visit the child again, until it ends as is wanted or has been visited often enough.

    Fails at once after a request that failed and for which the child had no other branch. Those it
    had one for count as rounds: no repeaters in repeaters ask an endpoint that is down for ever.
    """
    until, most = frame.node.subject
    rounds = max(frame.index, frame.failures)
    if frame.index and until is not None and walk.status is until:
        return True
    if walk.has_lost_request:
        return False
    if isinstance(most, BoundValue):
        most = read_number(walk.evaluate(most, frame.scope), MAX_ITERATIONS)
    if rounds >= most:
        return until is not True
    frame.index += 1
    return frame.node.children[0]


def read_number(value: object, otherwise: float) -> float:
    """Return a number that a run has; what is none counts as not said."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def visit_for_each(walk: Walk, frame: Frame) -> Move:
    """Visit the child once for each item, as the list was at first."""
    if frame.items is None:
        frame.items = list(walk.evaluate(frame.node.subject, frame.scope) or ())
    if walk.status is False:
        return False
    if frame.index >= len(frame.items):
        return True
    frame.index += 1
    frame.said = None
    enter_item(frame)
    return frame.node.children[0]


def enter_item(frame: Frame) -> None:
    """Let the children of a loop see the item that it has come to."""
    name = frame.node.options.get("as", "item")
    item = (frame.items or [])[frame.index - 1]
    frame.inner = NodeScope(frame.scope.board, {**frame.scope.items, name: item})


def visit_subtree(walk: Walk, frame: Frame) -> Move:
    """Visit another behaviour, with a blackboard of its own."""
    node, other = frame.node, frame.node.behaviour
    if walk.status is None and other is not None:
        frame.inner = NodeScope(Blackboard(other.schema))
        for name, value in node.options["with"].items():
            frame.inner.board.write(name, walk.evaluate(value, frame.scope))
        return node.children[0]
    for name, key in node.options["into"].items():
        frame.scope.board.write(name, frame.inner.board.read(key))
    return walk.status is True


def visit_decorator(walk: Walk, frame: Frame) -> Move:
    word = frame.node.word
    if word is None or word.name == CHECKPOINT:
        return _visit_checkpoint(walk, frame)
    ended: object = walk.status
    if walk.status is None:
        frame.decorator = build_decorator(frame.node)
        if word.name == TIMEOUT:
            walk.set_deadline(frame, frame.decorator.seconds)
        if hasattr(frame.decorator, "enter"):
            ended = frame.decorator.enter(walk)
    elif hasattr(frame.decorator, "leave"):
        ended = frame.decorator.leave(walk, walk.status)
    return frame.node.children[0] if ended is None else bool(ended)


def build_decorator(node: BehaviourNode) -> object:
    return node.word.use(**node.subject) if node.word is not None else None


def _visit_checkpoint(walk: Walk, frame: Frame) -> Move:
    """Open a turn before the child, and fold it afterwards: which is never a success."""
    if walk.status is None:
        frame.then = frame.node.children[0]
        return (walk.run.open_turn(),)
    frame.then = False
    return walk.run.play("fold")
