"""A scripted endpoint that plays a small run, for people who have no model at hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.endpoint import ScriptedEndpoint
from tests.support.script import Call, Reply, Script, calls, say, when_tool_free

_PACE = 0.03


@asynccontextmanager
async def endpoint() -> AsyncIterator[str]:
    first = Reply(
        thinking="Two questions: an expression and the time. I have a tool for each.",
        calls=(Call("calculate", {"expression": "(3 + 4) * 2 ** 8"}), Call("current_time", {})),
        piece_delay=_PACE,
    )
    answer = say(
        "(3 + 4) * 2 ** 8 is 1792. The time is in the result above, in UTC.", piece_delay=_PACE
    )
    again = calls(Call("current_time", {}), piece_delay=_PACE)
    script = Script([first], then=when_tool_free(answer, otherwise=again), unused_ok=True)
    async with ScriptedEndpoint(script) as running:
        yield running.base_url
