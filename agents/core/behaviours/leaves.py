"""Nodes that do something themselves: ask the model, write to the blackboard, tell people."""

from itertools import chain
from typing import Any

from agents.core.behaviours.builtin import RunUntil
from agents.core.behaviours.composites import read_number
from agents.core.behaviours.path import NodeFailed
from agents.core.behaviours.run_interface import PLAIN_TURN, TurnOrder
from agents.core.behaviours.snapshot import take_snapshot
from agents.core.behaviours.walk import BehaviourFailed, Frame, Move, Walk
from agents.core.control.condition import Condition

MAX_NOTICES = 100
"""That a behaviour gives the user in one run: each is stored and shown."""
_PHASES = frozenset({"repeater", "for-each"})


def visit_succeed(walk: Walk, frame: Frame) -> Move:
    return True


def visit_fail(walk: Walk, frame: Frame) -> Move:
    return False


def visit_condition(walk: Walk, frame: Frame) -> Move:
    node = frame.node
    if isinstance(node.subject, Condition):
        return walk.holds(node.subject)
    return node.word is not None and bool(node.word.use(walk))


def visit_action(walk: Walk, frame: Frame) -> Move:
    result = use_action(walk, frame)
    if isinstance(result, RunUntil):
        frame.then = True
        return walk.run.play(result.step)
    return result is not False


def use_action(walk: Walk, frame: Frame) -> Any:
    """Call what a node names, with the values of its arguments."""
    word, args = frame.node.word, frame.node.options.get("args")
    if word is None:
        return False
    if not args:
        return word.use(walk)
    return word.use(
        walk, **{name: walk.evaluate(value, frame.scope) for name, value in args.items()}
    )


# -- requests -------------------------------------------------------------------------------------


def visit_turn(walk: Walk, frame: Frame) -> Move:
    """Open a turn of its own, and do all of it."""
    run = walk.run
    if frame.stage == 0:
        return (run.open_turn(_build_order(walk, frame)),)
    if frame.stage == 1:
        return run.play("fold")
    return _take_reply(walk, frame, run.has_answered())


def visit_request(walk: Walk, frame: Frame) -> Move:
    """Ask the model, in the turn that is open."""
    run = walk.run
    if frame.stage:
        return _take_reply(walk, frame, run.has_answer())
    order = _build_order(walk, frame)
    if order is PLAIN_TURN:
        return run.play("ask")
    return chain((run.prepare_request(order),), run.play("ask"))


def _take_reply(walk: Walk, frame: Frame, answered: bool) -> bool:
    if answered and (key := frame.node.options.get("into")):
        frame.scope.board.write(key, walk.run.get_reply())
    if not answered and walk.run.has_failed():
        walk.has_lost_request = True
        for outer in walk.frames:
            outer.failures += 1
    return answered


def _build_order(walk: Walk, frame: Frame) -> TurnOrder:
    """Return what a node wants of its turn; `:timeout` begins now."""
    options, scope = frame.node.options, frame.scope
    if (seconds := options.get("timeout")) is not None:
        walk.set_deadline(frame, max(0.0, read_number(walk.evaluate(seconds, scope), 3_600)))
    budget, say = options.get("budget"), options.get("say")
    most = read_number(walk.evaluate(budget, scope), 0) if budget is not None else 0
    if most <= 0 and say is None and options.get("tools") is None and "interim" not in options:
        return PLAIN_TURN
    return TurnOrder(
        interim=options.get("interim", ""),
        say=walk.render(say, scope) if say is not None and _is_to_be_said(walk, frame) else "",
        tools=options.get("tools"),
        max_tokens=max(0, int(min(most, 10_000_000))),
    )


def _is_to_be_said(walk: Walk, frame: Frame) -> bool:
    """Return whether this is the first time in its phase, and remember it: a phase is a visit of
    the innermost node around that visits others more than once, or an item of a list."""
    for outer in reversed(walk.frames[:-1]):
        word = outer.node.word
        if outer.node.kind in _PHASES or (word is not None and word.name == "retry"):
            outer.said = outer.said or set()
            if frame.node.number in outer.said:
                return False
            outer.said.add(frame.node.number)
            return True
    return True


# -- the blackboard, people, and the end ----------------------------------------------------------


def visit_set(walk: Walk, frame: Frame) -> Move:
    key, bound = frame.node.subject
    value, most = walk.evaluate(bound, frame.scope), frame.node.options.get("most")
    if most is not None and isinstance(value, list):
        value = value[: max(0, int(read_number(walk.evaluate(most, frame.scope), len(value))))]
    frame.scope.board.write(key, value)
    return True


def visit_notify(walk: Walk, frame: Frame) -> Move:
    if frame.stage:
        return True
    walk.notices += 1
    if walk.notices > MAX_NOTICES:
        raise BehaviourFailed("it told the user too much")
    return (walk.run.notify(walk.render(frame.node.subject, frame.scope)),)


def visit_stop(walk: Walk, frame: Frame) -> Move:
    walk.run.stop(frame.node.subject)
    return ()


def visit_approve(walk: Walk, frame: Frame) -> Move:
    """Go on as somebody has decided; else ask, with which the run ends."""
    if walk.decision is None:
        question = walk.render(frame.node.subject, frame.scope)
        walk.run.ask_approval(question, take_snapshot(walk))
        return ()
    (decision, words), walk.decision = walk.decision, None
    if decision == "differently" and words:
        walk.run.say(f"The user says what to do differently: {words}")
    if decision == "refused":
        walk.declined_at = walk.run.steps_done
    if decision != "approved":
        raise NodeFailed("differently" if decision == "differently" else "no")
    return True
