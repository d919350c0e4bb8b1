"""One call: found, checked, timed and read, whatever the tool does."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from agents.core.chunks import SourceRef
from agents.core.messages import ToolOutcome
from agents.core.ports import Service, ToolContext, ToolRunner
from agents.core.tasks import abandoned_tasks
from agents.tools.definition import Tool, ToolFailed, ToolOutput, ToolRefused, define
from agents.tools.executor import ToolExecutor
from tests.agents.tools.factories import call, context
from tests.support.virtual import virtual_time


class Shelf(Service):
    def __init__(self, books: int) -> None:
        self.books = books


def now() -> float:
    return asyncio.get_running_loop().time()


def returning(value: Any) -> Tool:
    async def give() -> Any:
        """Give it."""
        return value

    return define(give)


def raising(error: BaseException) -> Tool:
    async def give() -> Any:
        """Give it."""
        raise error

    return define(give)


async def given(tool: Tool, **how: Any) -> ToolOutcome:
    return await ToolExecutor([tool], **how).run(call("give"), context())


# -- finding and checking -------------------------------------------------------------------------


async def add(first: int, second: int = 1) -> str:
    """Add two numbers."""
    return str(first + second)


async def write(text: str) -> str:
    """Write it."""
    return "written"


def test_it_is_a_tool_runner_with_schemas_in_order() -> None:
    executor = ToolExecutor([define(add), define(write, writes=True)])
    assert isinstance(executor, ToolRunner)
    assert [s["function"]["name"] for s in executor.schemas()] == ["add", "write"]


def test_it_knows_which_tools_write() -> None:
    executor = ToolExecutor([define(add), define(write, writes=True)])
    assert [executor.writes(name) for name in ("add", "write", "unknown")] == [False, True, False]


async def test_a_call_is_run_with_its_arguments() -> None:
    executor = ToolExecutor([define(add)])
    assert await executor.run(call("add", first=2), context()) == ToolOutcome(True, "3")


async def test_an_unknown_tool_fails_with_the_known_ones() -> None:
    outcome = await ToolExecutor([define(add), define(write)]).run(call("sing"), context())
    assert (outcome.ok, outcome.refused) == (False, False)
    assert "no tool 'sing'" in outcome.content
    assert "add, write" in outcome.content


async def test_bad_arguments_fail_and_name_the_field() -> None:
    outcome = await ToolExecutor([define(add)]).run(call("add", first="much"), context())
    assert (outcome.ok, outcome.refused) == (False, False)
    assert "first: " in outcome.content


# -- services -------------------------------------------------------------------------------------


async def count(shelf: Shelf, context: ToolContext) -> str:
    """Count the books."""
    return f"{context.user_id} has {shelf.books}"


async def test_services_and_context_are_handed_in_by_type() -> None:
    executor = ToolExecutor([define(count)], [Shelf(3)])
    assert (await executor.run(call("count"), context())).content == "ada has 3"


def test_a_missing_service_is_told_before_the_first_run() -> None:
    with pytest.raises(TypeError, match="'count' needs a Shelf"):
        ToolExecutor([define(count)])


async def test_a_kind_of_service_will_do() -> None:
    class BigShelf(Shelf):
        pass

    executor = ToolExecutor([define(count)], [BigShelf(300)])
    assert (await executor.run(call("count"), context())).content == "ada has 300"


# -- results --------------------------------------------------------------------------------------


class Hit(BaseModel):
    path: str
    score: float


SOURCE = SourceRef("a.md", "vault")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ("", ""),
        (None, "Done."),
        ([1, "zwei"], '[1, "zwei"]'),
        ({"größe": 1}, '{"größe": 1}'),
        (True, "true"),
        (0, "0"),
        (Hit(path="a", score=0.5), '{"path":"a","score":0.5}'),
        (ToolOutput("found", (SOURCE,)), "found"),
    ],
    ids=str,
)
async def test_results_become_text(value: Any, content: str) -> None:
    outcome = await given(returning(value))
    assert (outcome.ok, outcome.content) == (True, content)


async def test_sources_come_with_their_output() -> None:
    assert (await given(returning(ToolOutput("found", (SOURCE,))))).sources == (SOURCE,)


async def test_an_outcome_is_passed_on() -> None:
    outcome = ToolOutcome(ok=False, content="no", refused=True)
    assert await given(returning(outcome)) is outcome


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("inf")], object(), {(1, 2): 3}, {1, 2}, b"bytes", CIRCLE],
    ids=lambda value: type(value).__name__,
)
async def test_what_is_not_json_is_a_failure_that_says_so(value: Any) -> None:
    outcome = await given(returning(value))
    assert not outcome.ok
    assert "not JSON" in outcome.content
    assert len(outcome.content) < 200


async def test_a_result_of_ten_megabytes_is_passed_on_whole() -> None:
    """The loop cuts it: it knows how much the model may have."""
    outcome = await given(returning(["x" * 1_000] * 10_000))
    assert len(outcome.content) > 10_000_000


# -- failures -------------------------------------------------------------------------------------


async def test_a_failure_tells_the_model_its_message() -> None:
    outcome = await given(raising(ToolFailed("There is no note 'a.md'.")))
    assert outcome == ToolOutcome(ok=False, content="There is no note 'a.md'.")


async def test_a_refusal_by_a_tool_is_a_failure() -> None:
    outcome = await given(raising(ToolRefused("'/etc' is outside the vault.")))
    assert (outcome.ok, outcome.refused) == (False, False)
    assert outcome.content == "Refused: '/etc' is outside the vault."


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), TimeoutError()])
async def test_an_accident_is_a_failure_without_its_details(error: Exception) -> None:
    outcome = await given(raising(error))
    assert (outcome.ok, outcome.refused) == (False, False)
    assert type(error).__name__ in outcome.content
    assert "secret" not in outcome.content


@virtual_time
async def test_a_tool_that_cancels_itself_is_a_failure_not_a_cancelled_run() -> None:
    """CancelledError that nobody asked for, as from a task of its own that was cancelled."""
    running = asyncio.create_task(given(raising(asyncio.CancelledError())))
    await asyncio.wait([running])
    assert not running.cancelled()
    assert not running.result().ok


# -- time -----------------------------------------------------------------------------------------


def taking(seconds: float, *, timeout: float | None, **how: Any) -> Tool:
    async def give() -> str:
        """Give it late."""
        await asyncio.sleep(seconds)
        return "late"

    return define(give, timeout=timeout, **how)


@virtual_time
async def test_a_tool_within_its_time_is_waited_for() -> None:
    assert (await given(taking(9.9, timeout=10))).content == "late"


@virtual_time
async def test_a_tool_beyond_its_time_fails_and_says_so() -> None:
    outcome = await given(taking(100, timeout=10))
    assert (outcome.ok, outcome.refused) == (False, False)
    assert outcome.content == "give took longer than 10 s and was cut."
    assert now() == 10
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_writing_tool_that_was_cut_may_have_taken_effect() -> None:
    outcome = await given(taking(100, timeout=10, writes=True))
    assert "may have taken effect" in outcome.content


@virtual_time
async def test_a_tool_without_a_time_keeps_its_own() -> None:
    assert (await given(taking(1_000, timeout=None))).content == "late"


@virtual_time
async def test_a_tool_that_swallows_its_cancellation_is_not_waited_for() -> None:
    ended = asyncio.Event()

    async def give() -> str:
        """Give it when I please."""
        end = now() + 50
        while (left := end - now()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                continue
        ended.set()
        return "late"

    outcome = await given(define(give, timeout=10))
    assert not outcome.ok
    assert now() < 10.5
    assert abandoned_tasks() == 1
    await ended.wait()
    await asyncio.sleep(0)
    assert abandoned_tasks() == 0


@pytest.mark.parametrize("seconds", [10, None])
@virtual_time
async def test_a_cancelled_call_cancels_its_tool(seconds: float | None) -> None:
    cancelled = []

    async def give() -> str:
        """Give it late."""
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            cancelled.append(now())
            raise
        return "late"

    running = asyncio.create_task(given(define(give, timeout=seconds)))
    await asyncio.sleep(1)
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert cancelled == [1]
    assert len(asyncio.all_tasks()) == 1
