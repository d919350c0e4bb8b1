"""The ToolRunner port without the registry: tools that behave, and tools that do not.

    with FakeTools({"look": lambda page: f"page {page}", "stuck": hangs()}) as tools: ...

A plain function, async or not, is called with the call's arguments; what it raises becomes a
failed outcome, as the port demands.
"""

import asyncio
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from agents.core.config import AgentConfig
from agents.core.messages import ToolCall, ToolOutcome, ToolSchema
from agents.core.ports import ToolContext

from .virtual import VirtualClock, VirtualTimeLoop

_SAFETY = 30.0
"""Real seconds after which a blocked thread gives up, should a test forget to release it."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    act: Callable[["FakeTools", ToolCall, ToolContext], Awaitable[ToolOutcome]]
    writes: bool = False


Tool = Behaviour | Callable[..., Any]
"""A function may return a string, a ToolOutcome, or an awaitable of one."""


class FakeTools:
    def __init__(self, tools: Mapping[str, Tool], *, writes: Collection[str] = ()) -> None:
        self._tools = {name: _behaviour(tool) for name, tool in tools.items()}
        self._writes = {name for name, tool in self._tools.items() if tool.writes} | {*writes}
        self.calls: list[ToolCall] = []
        self.contexts: list[ToolContext] = []
        self.in_flight = 0
        self.max_in_flight = 0
        self.finished = 0
        self.cancelled = 0
        """Calls that ended by cancellation, and cancellations that were swallowed."""
        self.released = threading.Event()
        self._threads = ThreadPoolExecutor(64, thread_name_prefix="fake-tool")

    @property
    def started(self) -> int:
        return len(self.calls)

    def schemas(self) -> tuple[ToolSchema, ...]:
        return tuple(
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in self._tools
        )

    def writes(self, name: str) -> bool:
        return name in self._writes

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        self.calls.append(call)
        self.contexts.append(context)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            outcome = await self._act(call, context)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        self.finished += 1
        return outcome

    async def block_a_thread(self) -> None:
        loop = asyncio.get_running_loop()
        blocked = loop.run_in_executor(self._threads, self.released.wait, _SAFETY)
        if isinstance(loop, VirtualTimeLoop):
            loop.never_wait_for(blocked)
        await blocked

    def release(self) -> None:
        """Let blocked threads and deaf tools go. Leaving the context does it."""
        self.released.set()
        self._threads.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    async def _act(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        tool = self._tools.get(call.name)
        if tool is None:
            return ToolOutcome(ok=False, content=f"There is no tool {call.name!r}.")
        return await tool.act(self, call, context)


def tool_context(**changes: Any) -> ToolContext:
    """A context for running a tool by itself, with a minute to go."""
    usual: dict[str, Any] = {
        "call_id": "call_1",
        "user_id": "ada",
        "project_id": "project",
        "clock": VirtualClock(),
        "deadline": asyncio.get_running_loop().time() + 60,
        "tokens_left": 10_000,
        "config": AgentConfig(),
        "emit": lambda chunk: None,
    }
    return ToolContext(**(usual | changes))


# -- behaviours -----------------------------------------------------------------------------------


def returns(content: str, *, writes: bool = False) -> Behaviour:
    return _fixed(ToolOutcome(ok=True, content=content), writes)


def fails(content: str = "It failed.", *, writes: bool = False) -> Behaviour:
    return _fixed(ToolOutcome(ok=False, content=content), writes)


def refuses(content: str = "Not allowed.", *, writes: bool = False) -> Behaviour:
    return _fixed(ToolOutcome(ok=False, content=content, refused=True), writes)


def raises(error: Exception, *, writes: bool = False) -> Behaviour:
    """Breaks the port: the exception leaves `run`."""

    async def act(tools: FakeTools, call: ToolCall, context: ToolContext) -> ToolOutcome:
        raise error

    return Behaviour(act, writes)


def slow(seconds: float, content: str = "done", *, writes: bool = False) -> Behaviour:
    async def act(tools: FakeTools, call: ToolCall, context: ToolContext) -> ToolOutcome:
        await asyncio.sleep(seconds)
        return ToolOutcome(ok=True, content=content)

    return Behaviour(act, writes)


def hangs(*, writes: bool = False) -> Behaviour:
    """Never ends, but can be cancelled."""
    return slow(math.inf, writes=writes)


def swallows_cancellation(seconds: float, *, writes: bool = False) -> Behaviour:
    """Takes so many seconds, whoever cancels it, until the tools are released."""

    async def act(tools: FakeTools, call: ToolCall, context: ToolContext) -> ToolOutcome:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (left := end - loop.time()) > 0 and not tools.released.is_set():
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                tools.cancelled += 1
        return ToolOutcome(ok=True, content="done, late")

    return Behaviour(act, writes)


def blocks_a_thread(*, writes: bool = False) -> Behaviour:
    """Waits for a thread that ends only when the tools are released."""

    async def act(tools: FakeTools, call: ToolCall, context: ToolContext) -> ToolOutcome:
        await tools.block_a_thread()
        return ToolOutcome(ok=True, content="released")

    return Behaviour(act, writes)


def with_context(
    tool: Callable[[ToolCall, ToolContext], Awaitable[ToolOutcome | str]], *, writes: bool = False
) -> Behaviour:
    """A tool that sees its call and context, as a subagent does."""

    async def act(tools: FakeTools, call: ToolCall, context: ToolContext) -> ToolOutcome:
        return _outcome(await tool(call, context))

    return Behaviour(act, writes)


def _fixed(outcome: ToolOutcome, writes: bool) -> Behaviour:
    async def act(tools: FakeTools, call: ToolCall, context: ToolContext) -> ToolOutcome:
        return outcome

    return Behaviour(act, writes)


def _behaviour(tool: Tool) -> Behaviour:
    return tool if isinstance(tool, Behaviour) else _plain(tool)


def _plain(function: Callable[..., Any]) -> Behaviour:
    async def act(tools: FakeTools, call: ToolCall, context: ToolContext) -> ToolOutcome:
        try:
            result = function(**call.arguments)
            return _outcome(await result if inspect.isawaitable(result) else result)
        except Exception as error:
            return ToolOutcome(ok=False, content=f"{type(error).__name__}: {error}")

    return Behaviour(act)


def _outcome(result: Any) -> ToolOutcome:
    return result if isinstance(result, ToolOutcome) else ToolOutcome(True, str(result))
