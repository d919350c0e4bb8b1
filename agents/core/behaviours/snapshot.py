"""Where a behaviour stands, as JSON: a run that asks ends, and another goes on at that node.

A snapshot comes back from a row, so nothing in it is believed: one that does not fit is refused.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from agents.core.behaviours.blackboard import Blackboard, NotWritten
from agents.core.behaviours.composites import TIMEOUT, build_decorator, enter_item
from agents.core.behaviours.run_interface import CallResult
from agents.core.behaviours.walk import Frame, NodeScope, Walk


class InvalidSnapshot(Exception):
    """A snapshot is not one of this behaviour."""


DOORS = frozenset({"approve", "call", "decorator", "parallel", "turn"})
"""Nodes at which another run can go on: one that has asked, or whose turn has calls that wait."""


def take_snapshot(walk: Walk) -> dict[str, Any]:
    """Return where a walk stands: at its last node. What that has to say is said again, since the
    run that goes on does not know what this one has told the model."""
    leaf = walk.frames[-1].node
    for frame in walk.frames:
        if frame.said is not None:
            frame.said.discard(leaf.number)
    return {
        "name": walk.behaviour.name,
        "digest": walk.behaviour.digest,
        "leaf": leaf.number,
        "frames": [_describe_frame(frame) for frame in walk.frames],
        "board": walk.board.get_names(),
    }


def _describe_frame(frame: Frame) -> dict[str, Any]:
    about: dict[str, Any] = {"node": frame.node.number, "index": frame.index}
    if frame.items is not None and frame.node.kind == "for-each":
        about["items"] = frame.items
    if frame.results is not None:
        about["results"] = [[one.ok, one.content, one.is_held] for one in frame.results]
    if frame.said:
        about["said"] = sorted(frame.said)
    if frame.node.behaviour is not None:
        about["board"] = frame.inner.board.get_names()
    if is_dataclass(frame.decorator):
        about["decorator"] = _describe_decorator(frame.decorator)
    return about


def _describe_decorator(decorator: Any) -> dict[str, Any]:
    """Return what a decorator has come to, as far as JSON can tell it."""
    found = {}
    for one in fields(decorator):
        value = getattr(decorator, one.name)
        if isinstance(value, bool | int | float | str):
            found[one.name] = value
    return found


def restore_snapshot(walk: Walk, snapshot: Mapping[str, Any]) -> None:
    """Put a walk that has not begun where another one stood. Raises InvalidSnapshot."""
    try:
        if snapshot["digest"] != walk.behaviour.digest:
            raise InvalidSnapshot("another behaviour asked")
        _check_size(snapshot)
        _fill_board(walk.board, snapshot["board"])
        _restore_frames(walk, snapshot["frames"])
        leaf = walk.frames[-1].node
        if leaf.kind not in DOORS or leaf.number != snapshot["leaf"]:
            raise InvalidSnapshot("it does not end where a run can go on")
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, NotWritten) as error:
        raise InvalidSnapshot(type(error).__name__) from None


def _check_size(snapshot: Mapping[str, Any]) -> None:
    if len(json.dumps(snapshot, allow_nan=False)) > 1_000_000:
        raise InvalidSnapshot("it is too large")


def _fill_board(board: Blackboard, values: Mapping[str, Any]) -> None:
    """Write what was written; what a key begins with is there, and takes no room."""
    for key, value in values.items():
        if value != board.read(key):
            board.write(key, value)


def _restore_frames(walk: Walk, frames: list[Mapping[str, Any]]) -> None:
    """Enter each node inside the one before it. Nodes that are never visited have no frame; those
    of snapshots from before that was so are passed over."""
    transitions = walk.behaviour.transitions
    for about in frames:
        node = transitions.nodes[about["node"]]
        if node.is_passed_through:
            continue
        *inner, outermost = transitions.list_around(node)
        expected = walk.frames[-1].node.children if walk.frames else (walk.behaviour.root,)
        if outermost not in expected:
            raise InvalidSnapshot("its nodes are not inside each other")
        _restore_frame(walk, walk.enter((outermost, *reversed(inner))), about)


def _restore_frame(walk: Walk, frame: Frame, about: Mapping[str, Any]) -> None:
    node = frame.node
    frame.index, frame.said = int(about["index"]), set(map(int, about.get("said", ())))
    if node.kind == "for-each":
        frame.items = list(about["items"])
        enter_item(frame)
    elif node.behaviour is not None:
        frame.inner = NodeScope(Blackboard(node.behaviour.schema))
        _fill_board(frame.inner.board, about["board"])
    elif node.kind == "parallel" and "results" in about:
        frame.results = [CallResult(bool(a), str(b), bool(c)) for a, b, c in about["results"]]
    elif node.kind == "decorator" and node.word is not None:
        _restore_decorator(walk, frame, about.get("decorator", {}))


def _restore_decorator(walk: Walk, frame: Frame, about: Mapping[str, Any]) -> None:
    """Build a decorator anew and let it go on; its seconds begin again: no clock ran meanwhile."""
    frame.decorator = build_decorator(frame.node)
    known = {one.name for one in fields(frame.decorator)} if is_dataclass(frame.decorator) else ()
    for name, value in about.items():
        if name in known and type(value) is type(getattr(frame.decorator, name)):
            setattr(frame.decorator, name, value)
    if frame.node.word is not None and frame.node.word.name == TIMEOUT:
        walk.set_deadline(frame, float(frame.decorator.seconds))
