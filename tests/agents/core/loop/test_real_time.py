"""Deadlines in real time, over real sockets: how long after its limit does a run end?

Many runs at once, with tools that hang, swallow cancellation or block a thread and with models
that drip or fall silent. What counts is the delay minus that of a plain 5 ms timer in the same
process at the same time: the machine may be busy. A few runs in `make test-timed`,
hundreds by `make test-long`, which prints the figures; in virtual time every test of limits counts
the delay.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import Done, OracleStreamChunk, SystemMessage, ToolResult
from agents.core.clock import LoopClock
from agents.core.config import AgentConfig
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.loop import ConversationInput, run
from agents.core.state import AgentState
from agents.llm import OpenAIChatModel
from tests.support.endpoint import ScriptedEndpoint
from tests.support.runs import plain_http
from tests.support.script import Fault, Reply, Script, call, is_tool_free, say, when_tool_free
from tests.support.tools import (
    Behaviour,
    FakeTools,
    blocks_a_thread,
    fails,
    hangs,
    returns,
    swallows_cancellation,
)

TIMEOUT = 10
ALLOWED = 0.5
MOST_NOISE = 0.25
TOOLS: dict[str, Callable[[], Behaviour]] = {
    "hangs": hangs,
    "swallows": lambda: swallows_cancellation(3_600),
    "blocks": blocks_a_thread,
}


@dataclass(frozen=True)
class Case:
    """One way to reach a limit, and what there is in its way."""

    reason: str
    obstacle: str
    script: Script
    tool: Behaviour
    limits: dict[str, int]
    cancel_after: float | None = None


def cases(count: int, rng: random.Random) -> list[Case]:
    """So many cases, all kinds in turn."""
    kinds = [
        *(lambda o=o: _tool_case("timeout", o) for o in TOOLS),
        *(lambda o=o: _tool_case("user_cancelled", o, rng.uniform(0.2, 6)) for o in TOOLS),
        lambda: _model_case("timeout", "drips", say("drop " * 500, piece_delay=1.0)),
        lambda: _model_case("timeout", "silent", Reply(fault=Fault("hang_before_headers"))),
        lambda: _model_case(
            "user_cancelled", "drips", say("drop " * 500, piece_delay=1.0), rng.uniform(0.2, 6)
        ),
        *(lambda o=o: _stuck_case("no_progress", o) for o in WRAP_UPS),
        *(lambda o=o: _stuck_case("error_limit", o) for o in WRAP_UPS),
        lambda: _turns_case("none", say("Enough.")),
        lambda: _turns_case("slow wrap-up", WRAP_UPS["slow wrap-up"]),
        _tokens_case,
    ]
    return [kinds[number % len(kinds)]() for number in range(count)]


def _tool_case(reason: str, obstacle: str, cancel_after: float | None = None) -> Case:
    answering = when_tool_free(say("Enough.", piece_delay=0.02), otherwise=call("tool"))
    limits = {"timeout_seconds": TIMEOUT}
    return Case(reason, obstacle, Script(then=answering), TOOLS[obstacle](), limits, cancel_after)


def _model_case(
    reason: str, obstacle: str, reply: Reply, cancel_after: float | None = None
) -> Case:
    limits = {"timeout_seconds": TIMEOUT}
    return Case(reason, obstacle, Script(then=reply), returns("x"), limits, cancel_after)


WRAP_UPS = {
    "silent wrap-up": Reply(fault=Fault("hang")),
    "slow wrap-up": say("one word after the other " * 4, piece_delay=0.4),
}


def _stuck_case(reason: str, obstacle: str) -> Case:
    """The same call again and again, or calls that fail one after the other."""
    pages = iter(range(100))

    def step(body: dict[str, Any]) -> Reply:
        if is_tool_free(body):
            return WRAP_UPS[obstacle]
        return call("tool", page=1 if reason == "no_progress" else next(pages))

    tool = returns("same") if reason == "no_progress" else fails("broken")
    return Case(reason, obstacle, Script(then=step), tool, {})


def _turns_case(obstacle: str, answer: Reply) -> Case:
    script = Script(then=when_tool_free(answer, otherwise=call("tool", page=1)))
    return Case("max_iterations", obstacle, script, returns("same"), {"max_iterations": 2})


def _tokens_case() -> Case:
    endless = say("once upon a time " * 3_000, usage=None, piece_delay=0.001)
    return Case(
        "token_budget",
        "ignores max_tokens",
        Script(then=endless),
        returns("x"),
        {
            "token_budget": 1_000,
        },
    )


@dataclass
class Timing:
    case: Case
    reason: str
    late: float
    """From the limit to the terminal record; for what lies behind the run, to the notice."""
    in_all: float
    """From the limit to the terminal record in every case."""


async def measure(case: Case, endpoint: ScriptedEndpoint, http: Any, name: str) -> Timing:
    clock = LoopClock()
    cancellation = Cancellation()
    config = AgentConfig(**case.limits)
    endpoint.add(name, case.script)
    loop = asyncio.get_running_loop()
    marks: dict[str, float] = {"start": loop.time()}

    def cancel() -> None:
        marks["cancelled"] = loop.time()
        cancellation.request()

    if case.cancel_after is not None:
        loop.call_later(case.cancel_after, cancel)
    reason = ""
    with FakeTools({"tool": case.tool}) as tools:
        async for chunk in run(
            AgentState(user_id="1", project_id="1", config=config),
            ConversationInput(system="You are a test.", question="Why?"),
            tree=DefaultDecisionTree(config),
            model=OpenAIChatModel(http, endpoint.base_url, name, clock=clock),
            tools=tools,
            clock=clock,
            cancellation=cancellation,
        ):
            reason = _mark(chunk, marks, loop.time()) or reason
        ended = loop.time()
    limit = {
        "timeout": marks["start"] + TIMEOUT,
        "user_cancelled": marks.get("cancelled", 0.0),
        "no_progress": marks.get("result", 0.0),
        "error_limit": marks.get("result", 0.0),
    }.get(reason, marks.get("limit_reached", 0.0))
    told = marks.get(reason, ended)
    return Timing(case, reason, told - limit, ended - limit)


def _mark(chunk: OracleStreamChunk, marks: dict[str, float], now: float) -> str:
    """Remember the moments that delays are counted from; the reason, when it is the end."""
    match chunk:
        case Done(termination_reason=reason):
            return reason
        case SystemMessage(system_type="no_progress" | "error_limit" | "limit_reached" as kind):
            marks[kind] = now
        case ToolResult():
            marks["result"] = now
        case _:
            pass
    return ""


async def control(lateness: list[float]) -> None:
    """How late a plain timer of 5 ms is in this process."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + 0.005
        await asyncio.sleep(0.005)
        lateness.append(loop.time() - due)


async def measure_all(count: int, at_once: int) -> tuple[list[Timing], list[float]]:
    rng = random.Random(7)
    lateness: list[float] = []
    places = asyncio.Semaphore(at_once)
    async with plain_http() as http, ScriptedEndpoint({}) as endpoint:

        async def one(number: int, case: Case) -> Timing:
            async with places:
                return await measure(case, endpoint, http, f"run-{number}")

        timer = asyncio.create_task(control(lateness))
        timings = await asyncio.gather(*(one(n, c) for n, c in enumerate(cases(count, rng))))
        timer.cancel()
    return timings, lateness


def p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.99 * len(values)))]


def assert_in_time(timings: list[Timing], lateness: list[float]) -> None:
    noise = min(max(lateness), MOST_NOISE)  # more than that may be our own doing
    for timing in timings:
        what = f"{timing.case.reason}, {timing.case.obstacle}"
        assert timing.reason == timing.case.reason, what
        assert timing.late - noise <= ALLOWED, f"{what}: {timing.late:.3f} s (noise {noise:.3f} s)"
        assert timing.in_all - noise < 5.0, f"{what}: {timing.in_all:.3f} s"


@pytest.mark.timed
async def test_runs_end_in_time_whatever_tools_and_model_do() -> None:
    timings, lateness = await measure_all(count=32, at_once=32)
    assert_in_time(timings, lateness)


@pytest.mark.long
@pytest.mark.timed
async def test_hundreds_of_runs_end_in_time() -> None:
    timings, lateness = await measure_all(count=480, at_once=40)
    grouped: dict[tuple[str, str], list[Timing]] = defaultdict(list)
    for timing in timings:
        grouped[timing.reason, timing.case.obstacle].append(timing)
    print(
        f"\n{len(timings)} runs over real sockets; a 5 ms timer is p99 {p99(lateness):.3f} s late"
    )
    print("seconds from limit to terminal record, p99 (no_progress, error_limit: to the notice)")
    for (reason, obstacle), found in sorted(grouped.items()):
        late, in_all = p99([t.late for t in found]), p99([t.in_all for t in found])
        print(f"  {reason:15} {obstacle:20} n={len(found):3}  {late:6.3f}  in all {in_all:6.3f}")
    assert_in_time(timings, lateness)
