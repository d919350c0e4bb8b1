"""A run whose turns write down what is done with them."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.core.behaviours import BehaviourNode, BehaviourVocabulary, read_behaviour
from agents.core.behaviours.driver import BehaviourDriver
from agents.core.behaviours.path import PathRecorder
from agents.core.behaviours.run_interface import (
    PLAIN_TURN,
    CallResult,
    Resumption,
    StepChunks,
    TurnOrder,
)
from agents.core.behaviours.words import WordRegistry
from agents.core.chunks import Content, OracleStreamChunk
from agents.core.config import AgentConfig
from tests.agents.core.behaviours.stand_in_words import register_stand_ins

FAILED = "Failed…"
"""The reply of a request that failed."""
STEPS = ("ask", "plan", "execute", "deliver", "fold")


@dataclass
class FakeRun:
    """`halts` is the turn that is not opened any more; `replies` are what the model says in each
    turn: a text that ends with "…" calls tools."""

    halts: int = 9
    calls: bool = False
    answers: bool = True
    replies: Sequence[str] = ()
    oks: Mapping[str, bool] = field(default_factory=dict)
    """Which calls of a behaviour fail, by what they are called with."""
    log: list[str] = field(default_factory=list)
    orders: list[TurnOrder] = field(default_factory=list)
    limits: list[float | None] = field(default_factory=list)
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    turns: int = 0
    steps: int | None = None
    steps_done: int = 0
    now: float = 0.0
    seconds: float = 0.0
    """How long each request takes."""
    stopped: str = ""
    question: str = "Why?"
    config: AgentConfig = field(default_factory=AgentConfig)

    @property
    def is_halted(self) -> bool:
        return self.turns >= self.halts or bool(self.stopped)

    @property
    def next_step(self) -> str:
        return "" if self.steps is None else STEPS[self.steps]

    def open_turn(self, order: TurnOrder = PLAIN_TURN) -> Iterator[OracleStreamChunk]:
        self.turns += 1
        self.steps = 0
        self.orders.append(order)
        yield self._note("open")

    def prepare_request(self, order: TurnOrder) -> Iterator[OracleStreamChunk]:
        self.orders[-1] = order
        yield self._note("prepare")

    def play(self, until: str) -> Iterator[StepChunks]:
        step = ""
        while self.steps is not None and step != until:
            step = self.next_step
            yield self._ask() if step == "ask" else [self._note(step)]
            self.steps = self.steps + 1 if self.steps < len(STEPS) - 1 else None
            self.steps_done += 1

    async def _ask(self) -> AsyncGenerator[OracleStreamChunk, None]:
        try:
            yield self._note("ask")
            self.now += self.seconds
            await asyncio.sleep(0)
        finally:
            self.log.append("closed")

    def limit_time(self, until: float | None) -> None:
        self.limits.append(until)

    def has_answer(self) -> bool:
        return self.answers

    def has_calls(self) -> bool:
        return self.calls

    def has_answered(self) -> bool:
        return self.turns > 0 and not self.get_reply().endswith("…")

    def has_failed(self) -> bool:
        return self.turns > 0 and self.get_reply() == FAILED

    def get_reply(self) -> str:
        return self.replies[self.turns - 1] if self.turns <= len(self.replies) else "Found."

    def get_results(self) -> Sequence[CallResult]:
        return [
            CallResult(self.oks.get(call.name, True), f"{call.name} {dict(call.arguments)}")
            for call in self.orders[-1].calls
        ]

    def read_facts(self) -> Mapping[str, Any]:
        return {"turn": {"answered": False, "number": self.turns}}

    def fill_prompt(self) -> None:
        self.log.append("fill")

    def say(self, text: str) -> None:
        self.said.append(text)

    def notify(self, text: str) -> Iterator[OracleStreamChunk]:
        yield self._note(f"told: {text}")

    def stop(self, reason: str) -> None:
        self.stopped = reason

    def end_behaviour(self, *, is_declined: bool) -> None:
        without = "declined" if is_declined else "behaviour_ended"
        self.stop("completed" if self.has_answered() else without)

    def ask_approval(self, question: str, snapshot: Mapping[str, Any]) -> None:
        self.asked.append((question, snapshot))
        self.stop("needs_approval")

    def report_failure(self, behaviour: str, why: str) -> Iterator[OracleStreamChunk]:
        yield self._note(f"failed: {why}")

    def _note(self, what: str) -> OracleStreamChunk:
        self.log.append(what)
        return Content(content=what, seq=len(self.log))


@dataclass
class Watcher:
    seen: list[str] = field(default_factory=list)

    def enter(self, nodes: Sequence[BehaviourNode]) -> None:
        self.seen += [f"{node.number}" for node in nodes]

    def leave(self, nodes: Sequence[BehaviourNode], succeeded: bool | None) -> None:
        sign = {True: "+", False: "-", None: "!"}[succeeded]
        self.seen += [f"{node.number}{sign}" for node in nodes]


async def take_parts(parts: Iterator[StepChunks]) -> AsyncGenerator[OracleStreamChunk, None]:
    for part in parts:
        if isinstance(part, AsyncGenerator):
            async for chunk in part:
                yield chunk
        else:
            for chunk in part:
                yield chunk


async def walk(
    node: str,
    run: FakeRun | None = None,
    words: WordRegistry | None = None,
    *,
    schema: str = "",
    behaviours: Mapping[str, str] | None = None,
    resume: Resumption | None = None,
    path: PathRecorder | None = None,
) -> str:
    """Drive one node; return which nodes were visited, and how each ended."""
    text = f'(tree "mine" {schema and f":blackboard-schema {schema}"} {node})'
    vocabulary = BehaviourVocabulary(
        words=words or register_stand_ins(text), behaviours=behaviours or {}
    )
    watcher = Watcher()
    run = run or FakeRun()
    driver = BehaviourDriver(read_behaviour(text, vocabulary), run, path, [watcher])
    shown = [chunk async for chunk in take_parts(driver.drive(resume))]
    shown += [chunk async for chunk in take_parts(driver.clean_up())]
    assert [chunk.content for chunk in shown if isinstance(chunk, Content)] == [
        note for note in run.log if note not in ("closed", "fill")
    ]
    return " ".join(watcher.seen)
