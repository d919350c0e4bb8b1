"""Calls that a behaviour makes: one alone, or several side by side, in turns without a request."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agents.core.behaviours.behaviour import BehaviourNode
from agents.core.behaviours.blackboard import MAX_VALUE_BYTES
from agents.core.behaviours.builtin import RunUntil
from agents.core.behaviours.composites import read_number
from agents.core.behaviours.leaves import use_action
from agents.core.behaviours.run_interface import CALLS_LABEL, CallResult, OwnCall, TurnOrder
from agents.core.behaviours.walk import BehaviourFailed, Frame, Move, NodeScope, Walk

MAX_BATCHES = 50
"""Of own calls in one run: they are no iterations, so nothing else counts them."""
MADE = 2
"""The stage of a call that has its result."""
HELD = CallResult(False, "", is_held=True)
MADE_BEFORE = CallResult(True, "")
"""Of a snapshot that does not tell what its calls came to."""
_OWN_LIST = "tools.execute"
"""The action that runs the calls of the model's answer, which are side by side already."""


def visit_call(walk: Walk, frame: Frame) -> Move:
    run = walk.run
    if frame.stage == 0:
        return _open_batch(walk, [_build_call(walk, frame.node, frame.scope)])
    if frame.stage < MADE:
        return run.play("fold")
    (result,) = run.get_results() or (CallResult(False, ""),)
    if result.ok and (key := frame.node.options.get("into")):
        frame.scope.board.write(key, result.content)
    return result.ok


def visit_parallel(walk: Walk, frame: Frame) -> Move:
    """Make calls side by side, as many in a turn as it may have."""
    run = walk.run
    if _runs_own_list(frame.node):
        frame.then = True
        return run.play("execute")
    if frame.items is None:
        frame.items = list(_list_parts(walk, frame))
        frame.results = []
    if frame.stage % 2:
        return run.play("fold")
    if frame.stage:
        _take_results(frame, list(run.get_results()))
    wave = _list_wave(walk, frame)
    if not wave or _is_enough(frame):
        return _end_parallel(frame)
    calls = [_build_call(walk, node, scope) for node, scope in wave]
    return _open_batch(walk, calls, _get_max(walk, frame), is_first_enough=_wants_first(frame))


def keep_results(walk: Walk) -> None:
    """Keep what calls side by side came to when the run ends to ask about some of them. More words
    than the blackboard takes are not kept: so many fail there, whether anybody is asked or not."""
    frame = walk.frames[-1]
    if frame.items is None or frame.node.kind != "parallel":
        return
    _take_results(frame, list(walk.run.get_results()))
    room, kept = MAX_VALUE_BYTES if _find_gathering_key(frame) else -1, []
    for one in frame.results or ():
        kept.append(one if room >= 0 else replace(one, content=""))
        room -= len(one.content.encode())
    frame.results = kept


def resume_calls(walk: Walk, frame: Frame, *, is_approved: bool) -> None:
    """Go on after calls that had to be asked for, with what they have come to. A no is one to
    those that were still to be made, too."""
    if frame.node.kind == "call":
        frame.stage = MADE
        return
    if _runs_own_list(frame.node):
        walk.leave(is_approved)
        return
    items, found = list(_list_parts(walk, frame)), iter(walk.run.get_results())
    known = frame.results or [HELD] * min(frame.index, len(items))
    results = [next(found, MADE_BEFORE) if one.is_held else one for one in known]
    if not is_approved:
        results += [CallResult(False, "")] * (len(items) - len(results))
    frame.items, frame.index, frame.results = items, len(results), results


def _runs_own_list(node: BehaviourNode) -> bool:
    inner = node.children[0]
    word = inner.children[0].word if inner.kind == "for-each" else inner.word
    return word is not None and word.name == _OWN_LIST


def _list_parts(walk: Walk, frame: Frame) -> Iterator[tuple[BehaviourNode, NodeScope]]:
    """Yield what runs side by side: the children, or one for each item of a list."""
    first = frame.node.children[0]
    if first.kind != "for-each":
        yield from ((child, frame.scope) for child in frame.node.children)
        return
    name = first.options.get("as", "item")
    for item in walk.evaluate(first.subject, frame.scope) or ():
        yield first.children[0], NodeScope(frame.scope.board, {**frame.scope.items, name: item})


def _list_wave(walk: Walk, frame: Frame) -> list[tuple[BehaviourNode, NodeScope]]:
    """Do the actions that come next, and return the calls that are made in one turn."""
    items, results = frame.items or [], frame.results or []
    wave: list[tuple[BehaviourNode, NodeScope]] = []
    while frame.index < len(items) and len(wave) < walk.run.config.max_tool_calls_per_turn:
        node, scope = items[frame.index]
        if node.kind == "call":
            wave.append((node, scope))
        elif wave:
            break
        else:
            results.append(CallResult(_do_action(walk, node, scope), ""))
        frame.index += 1
    frame.results = results
    return wave


def _do_action(walk: Walk, node: BehaviourNode, scope: NodeScope) -> bool:
    result = use_action(walk, Frame(node, scope, scope))
    if isinstance(result, RunUntil):
        raise BehaviourFailed("a part of a turn cannot be done side by side with others")
    return result is not False


def _take_results(frame: Frame, found: list[CallResult]) -> None:
    """Keep what a turn's calls came to, one for each that was to be made."""
    results = frame.results if frame.results is not None else []
    results += found[: frame.index - len(results)]
    results += [CallResult(False, "")] * (frame.index - len(results))
    frame.results = results


def _wants_first(frame: Frame) -> bool:
    options = frame.node.options
    return options.get("policy") == "require-one" and not options.get("wait-for-all", False)


def _is_enough(frame: Frame) -> bool:
    return _wants_first(frame) and any(result.ok for result in frame.results or ())


def _end_parallel(frame: Frame) -> bool:
    """Gather results where a loop says so, and hold them against the policy."""
    results: list[CallResult] = frame.results or []
    if key := _find_gathering_key(frame):
        frame.scope.board.write(key, [one.content if one.ok else "" for one in results])
    match frame.node.options.get("policy", "require-all"):
        case "continue-on-failure":
            return True
        case "require-one":
            return not results or any(result.ok for result in results)
    return all(result.ok for result in results)


def _find_gathering_key(frame: Frame) -> str | None:
    """Return the key that takes what all calls of a loop came to."""
    first = frame.node.children[0]
    return first.children[0].options.get("into") if first.kind == "for-each" else None


def _get_max(walk: Walk, frame: Frame) -> int:
    wanted: Any = frame.node.options.get("max")
    if wanted is None:
        return 0
    return max(1, int(min(read_number(walk.evaluate(wanted, frame.scope), 64), 64)))


def _build_call(walk: Walk, node: BehaviourNode, scope: NodeScope) -> OwnCall:
    args = node.options.get("args", {})
    return OwnCall(
        node.subject, {name: walk.evaluate(value, scope) for name, value in args.items()}
    )


def _open_batch(
    walk: Walk, calls: list[OwnCall], most: int = 0, *, is_first_enough: bool = False
) -> Move:
    walk.batches += 1
    if walk.batches > MAX_BATCHES:
        raise BehaviourFailed("it made too many calls")
    order = TurnOrder(
        interim=CALLS_LABEL,
        calls=tuple(calls),
        max_parallel=most,
        is_first_enough=is_first_enough,
    )
    return (walk.run.open_turn(order),)
