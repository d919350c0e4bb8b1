"""Drives a run by a behaviour: which node is visited next, until something is to be done.

One explicit stack, which is all that changes besides the blackboard; no node is visited again
because of what another one does. What takes time is awaited here, so a behaviour never spins: one
that visits many nodes and has nothing done is stuck. Turns are the engine's: a behaviour says when
they are opened and how far they go, and no more.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode
from agents.core.behaviours.builtin import RunUntil
from agents.core.behaviours.placement import CHECKPOINT
from agents.core.behaviours.signatures import MAX_ITERATIONS
from agents.core.behaviours.values import get_literal
from agents.core.chunks import OracleStreamChunk

MAX_VISITS = 1_000
"""So many, with nothing to show and nothing to wait for, and a behaviour is stuck."""
Chunks = AsyncGenerator[OracleStreamChunk, None] | Iterable[OracleStreamChunk]


class BehaviourFailed(Exception):
    """A behaviour cannot go on. The message says why, without the words of a run."""


class DrivenRun(Protocol):
    """The turns of a run, as a driver sees them."""

    @property
    def is_halted(self) -> bool: ...
    @property
    def next_step(self) -> str: ...
    def open_turn(self) -> Iterator[OracleStreamChunk]: ...
    def start_step(self) -> Chunks: ...
    def end_step(self) -> Iterator[OracleStreamChunk]: ...
    def has_answer(self) -> bool: ...
    def has_calls(self) -> bool: ...
    def fill_prompt(self) -> None: ...
    def report_failure(self, behaviour: str, why: str) -> Iterator[OracleStreamChunk]: ...


class BehaviourVisitor(Protocol):
    """Somebody who watches. No node knows of it."""

    def enter(self, node: BehaviourNode) -> None: ...
    def leave(self, node: BehaviourNode, succeeded: bool | None) -> None:
        """See a node left; None: the run was halted in it."""
        ...


@dataclass(slots=True)
class _Frame:
    """A node that is being visited."""

    node: BehaviourNode
    index: int = 0
    """Of the next child, or the rounds of a repeater."""
    decorator: Any = None
    is_open: bool = False
    """Whether what it waited for is done."""


class _OpenTurn:
    """Ask the run for the next checkpoint."""


_OPEN_TURN = _OpenTurn()
_Move = BehaviourNode | bool | RunUntil | _OpenTurn
"""What comes next: a child, the node's end, or something to be done first."""


async def drive(
    behaviour: Behaviour, run: DrivenRun, visitors: Sequence[BehaviourVisitor] = ()
) -> AsyncGenerator[OracleStreamChunk, None]:
    """Yield a run's chunks, until the behaviour has ended, is halted or has failed.

    What is left of the run then is the plain string's.
    """
    walk = _Walk(behaviour, run, visitors)
    try:
        while (work := walk.advance()) is not None:
            if isinstance(work, _OpenTurn):
                for chunk in run.open_turn():
                    yield chunk
                continue
            while run.next_step and not run.is_halted:
                step, part = run.next_step, run.start_step()
                if isinstance(part, AsyncGenerator):
                    async with aclosing(part) as chunks:
                        async for chunk in chunks:
                            yield chunk
                else:
                    for chunk in part:
                        yield chunk
                for chunk in run.end_step():
                    yield chunk
                if step == work.step:
                    break
    except BehaviourFailed as error:
        for chunk in run.report_failure(behaviour.name, str(error)):
            yield chunk
    finally:
        walk.halt()


class _Walk:
    """Where a run stands in its behaviour."""

    def __init__(
        self, behaviour: Behaviour, run: DrivenRun, visitors: Sequence[BehaviourVisitor]
    ) -> None:
        self._run = run
        self._visitors = visitors
        self._frames: list[_Frame] = []
        self._status: bool | None = None
        """How the child that was left has ended."""
        self._visits: Mapping[str, Callable[[_Frame], _Move]] = {
            "action": self._visit_action,
            "condition": self._visit_condition,
            "decorator": self._visit_decorator,
            "fail": lambda _: False,
            "llm-call": self._visit_request,
            "parallel": self._visit_parallel,
            "repeater": self._visit_repeater,
            "selector": self._visit_selector,
            "sequence": self._visit_sequence,
            "subtree": self._visit_subtree,
            "succeed": lambda _: True,
        }
        self._push(behaviour.root)

    def advance(self) -> RunUntil | _OpenTurn | None:
        """Go on to what is to be done next; None: there is nothing more."""
        for _ in range(MAX_VISITS):
            if not self._frames or self._run.is_halted:
                return None
            frame = self._frames[-1]
            move = self._visit(frame)
            if isinstance(move, BehaviourNode):
                self._push(move)
            elif isinstance(move, bool):
                self._pop(move)
            else:
                frame.is_open = True
                return move
        raise BehaviourFailed("it went round and round and did nothing")

    def halt(self) -> None:
        """Leave all nodes that are still visited."""
        while self._frames:
            node = self._frames.pop().node
            for visitor in self._visitors:
                visitor.leave(node, None)

    def _push(self, node: BehaviourNode) -> None:
        self._frames.append(_Frame(node))
        self._status = None
        for visitor in self._visitors:
            visitor.enter(node)

    def _pop(self, succeeded: bool) -> None:
        node = self._frames.pop().node
        self._status = succeeded
        for visitor in self._visitors:
            visitor.leave(node, succeeded)

    def _visit(self, frame: _Frame) -> _Move:
        kind = frame.node.kind
        if kind not in self._visits:
            raise BehaviourFailed(f"{kind} cannot be driven yet")
        return self._visits[kind](frame)

    # -- composites -------------------------------------------------------------------------------

    def _visit_sequence(self, frame: _Frame) -> _Move:
        return self._visit_next(frame, stop_at=False)

    def _visit_selector(self, frame: _Frame) -> _Move:
        return self._visit_next(frame, stop_at=True)

    def _visit_next(self, frame: _Frame, *, stop_at: bool) -> _Move:
        children = frame.node.children
        if self._status is stop_at:
            return stop_at
        if frame.index == len(children):
            return not stop_at
        frame.index += 1
        return children[frame.index - 1]

    def _visit_repeater(self, frame: _Frame) -> _Move:
        options, status = frame.node.options, self._status
        until_success = options.get("until-success", False)
        if frame.index and status is (
            True if until_success else False if options.get("until-failure") else None
        ):
            return bool(status)
        if frame.index >= _get_rounds(frame.node):
            return not until_success
        frame.index += 1
        return frame.node.children[0]

    def _visit_subtree(self, frame: _Frame) -> _Move:
        if frame.node.behaviour is not None:
            raise BehaviourFailed("another behaviour cannot be driven yet")
        return frame.node.children[0] if self._status is None else self._status

    def _visit_decorator(self, frame: _Frame) -> _Move:
        word = frame.node.word
        if word is None or word.name == CHECKPOINT:
            return self._visit_checkpoint(frame)
        ended: object = self._status
        if self._status is None:
            frame.decorator = self._call(word.use, **frame.node.subject)
            if not hasattr(frame.decorator, "enter") and not hasattr(frame.decorator, "leave"):
                raise BehaviourFailed(f"{word.name} cannot be driven yet")
            if hasattr(frame.decorator, "enter"):
                ended = self._call(frame.decorator.enter, self._run)
        elif hasattr(frame.decorator, "leave"):
            ended = self._call(frame.decorator.leave, self._run, self._status)
        return frame.node.children[0] if ended is None else bool(ended)

    def _visit_checkpoint(self, frame: _Frame) -> _Move:
        """Open a turn before the child, and fold it afterwards: which is never a success."""
        if self._status is not None:
            return RunUntil("fold") if self._run.next_step else False
        return frame.node.children[0] if frame.is_open else _OPEN_TURN

    # -- leaves -----------------------------------------------------------------------------------

    def _visit_request(self, frame: _Frame) -> _Move:
        return self._run.has_answer() if frame.is_open else RunUntil("ask")

    def _visit_parallel(self, frame: _Frame) -> _Move:
        """Run the calls of the answer, which are side by side already."""
        inner = frame.node.children[0]
        word = inner.children[0].word if inner.kind == "for-each" else None
        if word is None or word.name != "tools.execute":
            raise BehaviourFailed("own calls cannot be driven yet")
        return True if frame.is_open else RunUntil("execute")

    def _visit_action(self, frame: _Frame) -> _Move:
        node = frame.node
        if frame.is_open:
            return True
        if node.word is None or "args" in node.options:
            raise BehaviourFailed("arguments of actions cannot be driven yet")
        result = self._call(node.word.use, self._run)
        return result if isinstance(result, RunUntil) else result is not False

    def _visit_condition(self, frame: _Frame) -> _Move:
        if frame.node.word is None:
            raise BehaviourFailed("expressions cannot be driven yet")
        return bool(self._call(frame.node.word.use, self._run))

    def _call(self, use: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Use a registered word; one that raises fails the behaviour, and not the run."""
        try:
            return use(*args, **options)
        except Exception as error:
            raise BehaviourFailed(type(error).__name__) from error


def _get_rounds(node: BehaviourNode) -> int:
    wanted = node.options.get("max-iterations")
    if wanted is None:
        return MAX_ITERATIONS
    if not wanted.is_literal:
        raise BehaviourFailed("values that a run has cannot be driven yet")
    return int(get_literal(wanted))
