"""Runs one tool call: finds the tool, checks the arguments, keeps its time, reads its result."""

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from agents.core.messages import ToolCall, ToolOutcome, ToolSchema
from agents.core.ports import Service, ToolContext
from agents.core.tasks import stop
from agents.tools.blocking import THREADS, ToolThreads
from agents.tools.definition import Tool, ToolFailed, ToolOutput, ToolRefused, ToolTimedOut

logger = logging.getLogger(__name__)
GRACE_SECONDS = 0.1


class ToolExecutor:
    """The tools of one run, with the services they are handed. Implements the ToolRunner port."""

    def __init__(
        self,
        tools: Iterable[Tool],
        services: Iterable[Service] = (),
        threads: ToolThreads = THREADS,
    ) -> None:
        offered = tuple(tools)
        self._tools = {tool.name: tool for tool in offered}
        if len(self._tools) < len(offered):
            raise TypeError("two tools of one name: the model could not tell them apart")
        self._services = tuple(services)
        self._threads = threads
        self._schemas = tuple(tool.schema for tool in self._tools.values())
        self._writing_tools = frozenset(tool.name for tool in self._tools.values() if tool.writes)
        for tool in self._tools.values():
            for kind in tool.injected.values():
                if kind is not ToolContext and self._find_service(kind) is None:
                    need = f"tool {tool.name!r} needs a {kind.__name__}"
                    raise TypeError(f"{need}, and none is given")

    def schemas(self) -> tuple[ToolSchema, ...]:
        return self._schemas

    def writes(self, name: str) -> bool:
        return name in self._writing_tools

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        try:
            outcome = _to_outcome(await self._call(call, context))
        except ToolFailed as error:
            late = isinstance(error, ToolTimedOut)
            return ToolOutcome(ok=False, content=str(error), timed_out=late)
        except ToolRefused as error:
            return ToolOutcome(ok=False, content=f"Refused: {error}", versions=error.versions)
        except Exception as error:
            logger.exception("tool %r failed", call.name)
            return ToolOutcome(ok=False, content=f"{call.name} failed ({type(error).__name__}).")
        is_receipt = outcome.ok and self._tools[call.name].acknowledges
        return replace(outcome, is_receipt=True) if is_receipt else outcome

    async def _call(self, call: ToolCall, context: ToolContext) -> Any:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools)
            raise ToolFailed(f"There is no tool {call.name!r}. There are: {known}.")
        arguments = tool.validate(call.arguments)
        for name, kind in tool.injected.items():
            arguments[name] = context if kind is ToolContext else self._find_service(kind)
        function = partial(tool.function, **arguments)
        work = _contain_exits(function() if tool.is_async else self._threads.run(function))
        return await (work if tool.timeout is None else _await_with_timeout(work, tool))

    def _find_service(self, kind: type[Any]) -> Service | None:
        return next((service for service in self._services if isinstance(service, kind)), None)


async def _contain_exits(work: Any) -> Any:
    """Await a tool's work. What is not an ordinary error, an exit say, must not leave its task: it
    would take the event loop and every other run with it."""
    try:
        return await work
    except (Exception, asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ToolFailed(f"The tool failed ({type(error).__name__}).") from None


async def _await_with_timeout(work: Any, tool: Tool) -> Any:
    """Await a tool's work, but not beyond its time, even if it swallows its cancellation."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait([task], timeout=tool.timeout)
    except asyncio.CancelledError:
        await stop([task], GRACE_SECONDS)
        raise
    if done:
        if task.cancelled():
            raise ToolFailed(f"{tool.name} was cancelled from within.")
        return task.result()
    await stop([task], GRACE_SECONDS)
    unknown = " It may have taken effect." if tool.writes else ""
    raise ToolTimedOut(f"{tool.name} took longer than {tool.timeout:g} s and was cut.{unknown}")


def _to_outcome(value: Any) -> ToolOutcome:
    match value:
        case ToolOutcome():
            return value
        case ToolOutput(str() as content, sources, count, versions):
            return ToolOutcome(
                ok=True,
                content=content,
                sources=tuple(sources),
                item_count=count,
                versions=tuple(versions),
            )
        case str():
            return ToolOutcome(ok=True, content=value)
        case None:
            return ToolOutcome(ok=True, content="Done.")
        case BaseModel():
            return ToolOutcome(ok=True, content=value.model_dump_json())
    try:
        return ToolOutcome(ok=True, content=json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ToolFailed(
            f"The tool returned something that is not JSON ({type(value).__name__})."
        ) from None
