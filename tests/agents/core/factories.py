"""What the tests of the core share: a state, and a run played to its end."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Approval,
    Content,
    Decision,
    Done,
    OracleStreamChunk,
    SystemMessage,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.config import AgentConfig
from agents.core.control.observers import Observer
from agents.core.decisions.protocol import DecisionTree
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.loop import Control, ConversationInput, run
from agents.core.messages import Message, ModelRequest
from agents.core.notify import Subscriber
from agents.core.ports import ChatModel, ToolRunner
from agents.core.state import AgentState
from tests.support.script import call, say
from tests.support.scripted_model import Answer
from tests.support.tools import FakeTools, returns
from tests.support.virtual import VirtualClock

C = TypeVar("C")


def limits(**values: int) -> AgentConfig:
    return AgentConfig.build(values)


def fresh(config: AgentConfig | None = None, **values: Any) -> AgentState:
    """A state of a run that began at 0.0."""
    known = {"start_time": 0.0, "now": 0.0, **values}
    return AgentState(user_id="ada", project_id="engine", config=config or AgentConfig(), **known)


def turn_end(**values: Any) -> Turn:
    """The end of an answered turn; by default one that said something and stopped."""
    return Turn(
        **{"number": 1, "phase": "end", "answered": True, "finish_reason": "stop", **values}
    )


async def play(
    model: ChatModel,
    tools: ToolRunner,
    *,
    tree: DecisionTree | None = None,
    config: AgentConfig | None = None,
    state: AgentState | None = None,
    question: str = "What is it?",
    history: Sequence[Message] = (),
    is_continued: bool = False,
    cancellation: Cancellation | None = None,
    deadline: float | None = None,
    observer: Observer | None = None,
    subscribers: Sequence[Subscriber] = (),
    control: Control | None = None,
) -> list[OracleStreamChunk]:
    """Every chunk of one run. Its last one is the only `done`."""
    state = state or fresh(config)
    chunks = [
        chunk
        async for chunk in run(
            state,
            ConversationInput(
                system="Be brief.", question=question, history=history, is_continued=is_continued
            ),
            tree=tree or DefaultDecisionTree(state.config),
            model=model,
            tools=tools,
            clock=VirtualClock(),
            cancellation=cancellation,
            deadline=deadline,
            observer=observer,
            control=control or Control(subscribers=tuple(subscribers)),
        )
    ]
    assert [chunk for chunk in chunks if isinstance(chunk, Done)] == chunks[-1:]
    assert_every_call_has_one_result(chunks)
    assert [chunk.seq for chunk in chunks] == list(range(1, len(chunks) + 1))
    return chunks


def own(chunks: Iterable[OracleStreamChunk], kind: type[C]) -> list[C]:
    """The run's own chunks of a type: those of subagents are left out."""
    return [chunk for chunk in chunks if isinstance(chunk, kind) and not chunk.parent]


def done(chunks: Sequence[OracleStreamChunk]) -> Done:
    last = chunks[-1]
    assert isinstance(last, Done)
    return last


def reason(chunks: Sequence[OracleStreamChunk]) -> str:
    return done(chunks).termination_reason


def text(chunks: Iterable[OracleStreamChunk]) -> str:
    return "".join(chunk.content for chunk in own(chunks, Content))


def notices(chunks: Iterable[OracleStreamChunk], system_type: str) -> list[SystemMessage]:
    return [chunk for chunk in own(chunks, SystemMessage) if chunk.system_type == system_type]


def ends(chunks: Iterable[OracleStreamChunk]) -> list[Turn]:
    return [chunk for chunk in own(chunks, Turn) if chunk.phase == "end"]


def decisions(chunks: Iterable[OracleStreamChunk]) -> list[Decision]:
    return own(chunks, Decision)


def results(chunks: Iterable[OracleStreamChunk]) -> dict[str, str]:
    return {chunk.tool_call_id: chunk.tool_result for chunk in own(chunks, ToolResult)}


def assert_every_call_has_one_result(chunks: Sequence[OracleStreamChunk]) -> None:
    called = {chunk.tool_call.id for chunk in own(chunks, ToolCalled)}
    given = [chunk.tool_call_id for chunk in own(chunks, ToolResult)]
    asked = {call for chunk in own(chunks, Approval) for call in chunk.calls}
    assert sorted(given) == sorted(called - asked)


def values_of(thing: Any, leave_out: Collection[str] = ()) -> Mapping[str, Any]:
    return {f.name: getattr(thing, f.name) for f in fields(thing) if f.name not in leave_out}


# -- tools and models -----------------------------------------------------------------------------

LOOK = {"look": returns("found")}


class Counting:
    """A tool that returns something new each time, so that a run makes progress."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, **_: Any) -> str:
        self.count += 1
        return "page " + "x" * self.count


def looking() -> FakeTools:
    return FakeTools({"look": Counting()})


def working_until_told(request: ModelRequest) -> Answer:
    return say("That is all.") if request.tool_choice == "none" else call("look")


def now() -> float:
    return asyncio.get_running_loop().time()
