"""What a run did in its behaviour, told from its recorded paths: visits, times, where it ended."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agents.core.behaviours.outline import BehaviourOutline, OutlineNode
from agents.core.behaviours.path import FAILURES

NodeStatus = Literal["succeeded", "failed", "halted"]
_STATUSES: dict[str, NodeStatus] = {"+": "succeeded", "-": "failed", "!": "halted"}
_STEP = re.compile(rf"(?<!\S)(\d{{1,4}})([+!-])({'|'.join(FAILURES)})?(?!\S)")
_ASKING = ("llm-call",)
_CALLING = ("parallel", "call")


@dataclass(frozen=True, slots=True)
class PathStep:
    """A node that was left, and how."""

    number: int
    status: NodeStatus
    why: str = ""
    """In words, where a value could not be had or kept, or somebody did not approve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWay:
    """The way from one checkpoint to the next."""

    turn: int
    """The number of the turn; 0: before the first."""
    path: str
    interim: str = ""
    """What the text of the turn is called, if it is not yet the answer."""
    seconds: float = 0.0
    model_seconds: float = 0.0
    tool_seconds: float = 0.0

    @property
    def steps(self) -> list[PathStep]:
        """Whatever is stored, what is no step is passed over."""
        return [
            PathStep(int(at[1]), _STATUSES[at[2]], FAILURES.get(at[3], ""))
            for at in _STEP.finditer(self.path)
        ]


@dataclass(slots=True)
class TracedNode:
    """A node with what a run did in it, and those below it."""

    node: OutlineNode
    visits: int = 0
    status: NodeStatus | Literal[""] = ""
    """How it was left last; empty: it never was."""
    why: str = ""
    """Why it failed then, if it did not decide so itself."""
    seconds: float = 0.0
    """Of the turns that it, or one below it, took part in."""
    turns: list[int] = field(default_factory=list)
    is_end: bool = False
    """Whether the run ended here."""
    is_taken: bool = False
    """Whether the turn that somebody looks at went this way."""
    is_reached: bool = False
    children: list["TracedNode"] = field(default_factory=list)

    def walk(self) -> Iterator["TracedNode"]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class BehaviourTrace:
    """A behaviour as a run went through it."""

    outline: BehaviourOutline
    roots: list[TracedNode]
    """The first node and, if there is one, what is done at every end."""
    ways: Sequence[TurnWay]
    by_number: dict[int, TracedNode]

    @property
    def never_reached(self) -> int:
        """How many nodes; what is done at the end comes after the last path, so nobody knows."""
        nodes = self.by_number.values()
        return sum(not (traced.is_reached or traced.node.is_cleanup) for traced in nodes)

    @property
    def end(self) -> TracedNode | None:
        return next((traced for traced in self.by_number.values() if traced.is_end), None)


def build_trace(
    outline: BehaviourOutline,
    ways: Sequence[TurnWay],
    *,
    is_over: bool = True,
    chosen_turn: int | None = None,
) -> BehaviourTrace:
    """Fold the ways of a run into its behaviour. `chosen_turn` is the one to be marked."""
    roots, by_number = _nest(outline)
    for way in ways:
        for step in way.steps:
            if (traced := by_number.get(step.number)) is not None:
                _visit(traced, step, way, is_chosen=way.turn == chosen_turn)
    for root in roots:
        _sum_up(root)
    if is_over and (last := _find_end(ways)) in by_number:
        by_number[last].is_end = True
    return BehaviourTrace(outline, roots, [way for way in ways if way.steps], by_number)


def _nest(outline: BehaviourOutline) -> tuple[list[TracedNode], dict[int, TracedNode]]:
    roots: list[TracedNode] = []
    above: list[TracedNode] = []
    by_number = {}
    for node in outline.nodes:
        traced = by_number[node.number] = TracedNode(node)
        del above[node.depth :]
        (above[-1].children if above else roots).append(traced)
        above.append(traced)
    return roots, by_number


def _visit(traced: TracedNode, step: PathStep, way: TurnWay, *, is_chosen: bool) -> None:
    traced.visits += 1
    traced.status, traced.why = step.status, step.why
    traced.is_taken |= is_chosen
    if way.turn not in traced.turns:
        traced.turns.append(way.turn)
        traced.seconds += _get_seconds(traced.node.kind, way)


def _get_seconds(kind: str, way: TurnWay) -> float:
    if kind in _ASKING:
        return way.model_seconds
    if kind in _CALLING:
        return way.tool_seconds
    return way.seconds if kind == "turn" else 0.0


def _sum_up(traced: TracedNode) -> None:
    """Give a node the time of those below it; one that is left last was there all the while."""
    for child in traced.children:
        _sum_up(child)
    if traced.children and traced.node.kind not in _CALLING:
        traced.seconds = sum(child.seconds for child in traced.children)
    if traced.visits and traced.node.kind == "parallel":  # its calls are one visit, not many
        for inner in traced.walk():
            inner.is_reached = True
    below = [child for child in traced.children if child.is_reached]
    traced.is_reached = bool(traced.visits or below)
    traced.is_taken |= any(child.is_taken for child in below)


def _find_end(ways: Sequence[TurnWay]) -> int:
    """Return the innermost node that the run was halted in, or else the one that it left last."""
    steps = next((way.steps for way in reversed(ways) if way.steps), [])
    halted = [step.number for step in steps if step.status == "halted"]
    return halted[0] if halted else steps[-1].number if steps else 0
