"""Behaviours that drive: which nodes are visited, what is done, and what becomes of a bad one."""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field

import pytest

from agents.core.behaviours import BehaviourNode, BehaviourVocabulary, read_behaviour
from agents.core.behaviours.driver import MAX_VISITS, drive
from agents.core.behaviours.words import WordRegistry
from agents.core.chunks import Content, OracleStreamChunk
from tests.agents.core.behaviours.stand_in_words import register_stand_ins

STEPS = ("ask", "plan", "execute", "deliver", "fold")


@dataclass
class FakeRun:
    """Turns that write down what is done. `halts` is the turn that is not opened any more."""

    halts: int = 3
    calls: bool = False
    answers: bool = True
    log: list[str] = field(default_factory=list)
    turns: int = 0
    steps: int | None = None

    @property
    def is_halted(self) -> bool:
        return self.turns >= self.halts

    @property
    def next_step(self) -> str:
        return "" if self.steps is None else STEPS[self.steps]

    def open_turn(self) -> Iterator[OracleStreamChunk]:
        self.turns += 1
        self.steps = 0
        yield self._note("open")

    def start_step(self) -> AsyncGenerator[OracleStreamChunk, None] | list[OracleStreamChunk]:
        return self._ask() if self.next_step == "ask" else [self._note(self.next_step)]

    async def _ask(self) -> AsyncGenerator[OracleStreamChunk, None]:
        try:
            yield self._note("ask")
        finally:
            self.log.append("closed")

    def end_step(self) -> Iterator[OracleStreamChunk]:
        assert self.steps is not None
        self.steps = self.steps + 1 if self.steps < len(STEPS) - 1 else None
        yield from ()

    def has_answer(self) -> bool:
        return self.answers

    def has_calls(self) -> bool:
        return self.calls

    def fill_prompt(self) -> None:
        self.log.append("fill")

    def report_failure(self, behaviour: str, why: str) -> Iterator[OracleStreamChunk]:
        yield self._note(f"failed: {why}")

    def _note(self, what: str) -> OracleStreamChunk:
        self.log.append(what)
        return Content(content=what, seq=len(self.log))


@dataclass
class Watcher:
    seen: list[str] = field(default_factory=list)

    def enter(self, node: BehaviourNode) -> None:
        self.seen.append(f"{node.number}")

    def leave(self, node: BehaviourNode, succeeded: bool | None) -> None:
        self.seen.append(f"{node.number}{ {True: '+', False: '-', None: '!'}[succeeded] }")


async def walk(node: str, run: FakeRun | None = None, words: WordRegistry | None = None) -> str:
    """Drive one node; return which nodes were visited, and how each ended."""
    text = f'(tree "mine" {node})'
    vocabulary = BehaviourVocabulary(words=words or register_stand_ins(text))
    watcher = Watcher()
    run = run or FakeRun()
    chunks = [chunk async for chunk in drive(read_behaviour(text, vocabulary), run, [watcher])]
    assert [chunk.content for chunk in chunks if isinstance(chunk, Content)] == [
        note for note in run.log if note not in ("closed", "fill")
    ]
    return " ".join(watcher.seen)


@pytest.mark.parametrize(
    ("node", "seen"),
    [
        ("(sequence (succeed) (fail) (succeed))", "1 2 2+ 3 3- 1-"),
        ("(sequence (succeed) (succeed))", "1 2 2+ 3 3+ 1+"),
        ("(selector (fail) (succeed) (fail))", "1 2 2- 3 3+ 1+"),
        ("(selector (fail) (fail))", "1 2 2- 3 3- 1-"),
        ("(repeater :max-iterations 2 (fail))", "1 2 2- 2 2- 1+"),
        ("(repeater :until-success :max-iterations 2 (fail))", "1 2 2- 2 2- 1-"),
        ("(repeater :until-success :max-iterations 2 (succeed))", "1 2 2+ 1+"),
        ("(repeater :until-failure :max-iterations 2 (fail))", "1 2 2- 1-"),
        ("(repeater :until-failure :max-iterations 2 (succeed))", "1 2 2+ 2 2+ 1+"),
        ("(subtree part (fail))", "1 2 2- 1-"),
        ("(decorator invert (fail))", "1 2 2- 1+"),
        ("(decorator always-succeed (fail))", "1 2 2- 1+"),
        ("(decorator retry :times 3 (fail))", "1 2 2- 2 2- 2 2- 1-"),
        ("(decorator retry :times 3 (succeed))", "1 2 2+ 1+"),
        ('(action anything :fn "it.succeeds")', "1 1+"),
        ("(condition anything?)", "1 1+"),
    ],
)
async def test_nodes_are_visited_as_their_kinds_say(node: str, seen: str) -> None:
    assert await walk(node) == seen


async def test_a_turn_is_opened_asked_and_folded_until_the_run_is_halted() -> None:
    run = FakeRun(halts=3)
    seen = await walk("(repeater (decorator budget-check (llm-call)))", run)
    turn = ["open", "ask", "closed", "plan", "execute", "deliver", "fold"]
    assert run.log == [*turn, *turn, "open"]
    assert seen == "1 2 3 3+ 2- 2 3 3+ 2- 2 2! 1!"


async def test_what_a_behaviour_leaves_out_of_a_turn_is_done_all_the_same() -> None:
    run = FakeRun(halts=9)
    await walk("(decorator budget-check (succeed))", run)
    assert run.log == ["open", "ask", "closed", "plan", "execute", "deliver", "fold"]


async def test_a_request_that_failed_is_a_failure_and_its_turn_is_folded() -> None:
    run = FakeRun(halts=9, answers=False)
    assert await walk("(decorator budget-check (llm-call))", run) == "1 2 2- 1-"
    assert run.log[-1] == "fold"


@pytest.mark.parametrize(
    "node",
    [
        "(repeater :max-iterations 1000 (succeed))",
        "(repeater :max-iterations 1000 (repeater :max-iterations 1000 (fail)))",
    ],
)
async def test_a_behaviour_that_does_nothing_for_long_is_stuck(node: str) -> None:
    run = FakeRun()
    seen = await walk(node, run)
    assert run.log == ["failed: it went round and round and did nothing"]
    assert len(seen.split()) < 3 * MAX_VISITS


async def test_a_word_that_raises_fails_the_behaviour_where_it_stands() -> None:
    words = register_stand_ins("")

    @words.condition("is-broken?")
    def is_broken(run: object) -> bool:
        raise KeyError("the words of a run")

    run = FakeRun()
    seen = await walk("(sequence (succeed) (condition is-broken?) (fail))", run, words)
    assert run.log == ["failed: KeyError"]
    assert seen == "1 2 2+ 3 3! 1!"


@pytest.mark.parametrize(
    "node",
    [
        "(turn)",
        '(notify "x")',
        "(decorator timeout :seconds 3 (succeed))",
        '(condition "turn.answered")',
        "(parallel (call vault_read))",
        "(repeater :max-iterations (config :max_iterations) (succeed))",
    ],
)
async def test_what_cannot_be_driven_yet_fails_the_behaviour(node: str) -> None:
    run = FakeRun()
    await walk(node, run)
    assert len(run.log) == 1
    assert run.log[0].endswith("cannot be driven yet")


async def test_closing_the_driver_closes_the_request() -> None:
    run, watcher = FakeRun(), Watcher()
    behaviour = read_behaviour('(tree "mine" (decorator budget-check (llm-call)))')
    chunks = drive(behaviour, run, [watcher])
    assert [(await anext(chunks)).seq for _ in range(2)] == [1, 2]
    await chunks.aclose()
    assert run.log == ["open", "ask", "closed"]
    assert watcher.seen[-2:] == ["2!", "1!"]
