"""Drive the real loop, with the real client, against a scripted endpoint on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from agents.core.cancellation import Cancellation
from agents.core.chunks import Decision, Hint, OracleStreamChunk, SystemMessage, Turn
from agents.core.clock import LoopClock
from agents.core.config import AgentConfig
from agents.core.decisions.protocol import DecisionTree
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.loop import ConversationInput, run
from agents.core.messages import Message
from agents.core.ports import ChatModel, Clock, Timer, ToolRunner
from agents.core.run_record import RunRecord
from agents.core.state import AgentState
from agents.llm import OpenAIChatModel
from tests.support.endpoint import ScriptedEndpoint
from tests.support.script import Script

FAST = 8.0
SYSTEM_PROMPT = "You are Oracle. Cite what you used as [path]. Notes:\n- notes/plan.md"
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class FastClock:
    """A clock on which time passes faster, so that a limit of ten seconds is reached in little
    more than one. Sockets, tools and the endpoint stay in real time."""

    def __init__(self, factor: float = FAST) -> None:
        self.factor = factor
        self._loop = LoopClock()

    def time(self) -> float:
        return self._loop.time()

    def monotonic(self) -> float:
        return self._loop.monotonic() * self.factor

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        return self._loop.call_at(when / self.factor, callback)


@dataclass
class Ran:
    """A run that has ended: its chunks and its record."""

    chunks: list[OracleStreamChunk] = field(default_factory=list)
    record: RunRecord = field(default_factory=RunRecord)
    seconds: float = 0.0

    @property
    def reason(self) -> str:
        assert self.record.done is not None
        return self.record.done.termination_reason

    @property
    def outcome(self) -> str:
        assert self.record.done is not None
        return self.record.done.outcome

    @property
    def explanation(self) -> str:
        assert self.record.done is not None
        return self.record.done.explanation

    @property
    def also(self) -> tuple[str, ...]:
        assert self.record.done is not None
        return self.record.done.also_triggered

    @property
    def answer(self) -> str:
        return self.record.answer

    @property
    def hints(self) -> list[str]:
        return [c.text for c in self.chunks if isinstance(c, Hint) and not c.parent]

    @property
    def decisions(self) -> list[Decision]:
        return [c for c in self.chunks if isinstance(c, Decision) and not c.parent]

    def notices(self, system_type: str, limit_type: str | None = None) -> list[SystemMessage]:
        return [
            notice
            for notice in self.record.notices
            if notice.system_type == system_type
            and limit_type in (None, notice.metadata.get("limit_type"))
        ]

    def turn_starts(self) -> list[Turn]:
        return [c for c in self.chunks if isinstance(c, Turn) and c.phase == "start"]


@asynccontextmanager
async def plain_http() -> AsyncIterator[httpx.AsyncClient]:
    """A client for loopback: as the product's, without the cost of loading certificates."""
    async with httpx.AsyncClient(verify=NO_CERTIFICATES, trust_env=False, timeout=60) as client:
        yield client


@dataclass
class Bench:
    """An endpoint with a script, and a model that talks to it."""

    endpoint: ScriptedEndpoint
    http: httpx.AsyncClient
    clock: Clock

    def model(self, name: str = "scripted", **options: Any) -> OpenAIChatModel:
        return OpenAIChatModel(
            self.http, self.endpoint.base_url, name, api_key="sk-test", clock=self.clock, **options
        )


@asynccontextmanager
async def served(
    *scripts: Any, clock: Clock | None = None, **named: Script
) -> AsyncIterator[Bench]:
    """An endpoint that plays a script (or several, by model name)."""
    async with (
        plain_http() as http,
        ScriptedEndpoint(named or scripts[0]) as endpoint,
    ):
        yield Bench(endpoint, http, clock or LoopClock())


async def drive(
    model: ChatModel,
    tools: ToolRunner,
    *,
    clock: Clock | None = None,
    config: dict[str, int] | AgentConfig | None = None,
    tree: DecisionTree | None = None,
    question: str = "What does the project say?",
    system: str = "",
    history: Sequence[Message] = (),
    state: AgentState | None = None,
    cancellation: Cancellation | None = None,
    watch: Callable[[OracleStreamChunk], None] | None = None,
) -> Ran:
    """One run from question to `done`. `watch` sees each chunk as it comes."""
    clock = clock or LoopClock()
    limits = config if isinstance(config, AgentConfig) else AgentConfig(**(config or {}))
    state = state or AgentState(user_id="7", project_id="3", config=limits)
    ran = Ran()
    began = clock.monotonic()
    async for chunk in run(
        state,
        ConversationInput(
            system=system or SYSTEM_PROMPT,
            question=question,
            history=history,
        ),
        tree=tree or DefaultDecisionTree(limits),
        model=model,
        tools=tools,
        clock=clock,
        cancellation=cancellation,
    ):
        ran.chunks.append(chunk)
        ran.record.add(chunk)
        if watch is not None:
            watch(chunk)
    ran.seconds = clock.monotonic() - began
    await asyncio.sleep(0)
    return ran
