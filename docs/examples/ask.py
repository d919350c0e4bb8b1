"""Ask one question in the terminal: the smallest program around the loop.

    python -m docs.examples.ask "What is 17 * 23?" --tree quick --set max_iterations=5

The model is the endpoint in ORACLE_LLM_BASE_URL (as OpenAI clients take it, ending in /v1) with
ORACLE_LLM_MODEL and ORACLE_LLM_API_KEY. Without one, a scripted endpoint on loopback plays a
short demonstration of a run that reaches its turn limit.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import agents.core.trees  # noqa: F401  # registers the shipped trees
from agents.core.chunks import Chunk, Content, Done, Error, System, Thinking, ToolCalled, ToolResult
from agents.core.clock import LoopClock
from agents.core.config import AgentConfig, ConfigError
from agents.core.decision import TREES, DecisionTree
from agents.core.loop import Conversation, run
from agents.core.ports import Cancellation, ChatModel
from agents.core.prompt import system_prompt
from agents.core.registry import UnknownName
from agents.core.state import AgentState
from agents.llm.client import OpenAIChatModel, build_http_client
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian

QUESTION = "What is (3 + 4) * 2 ** 8, and what time is it?"
EXIT = {"completed": 0, "limited": 0, "failed": 1, "cancelled": 130}


def main() -> int:
    options = _options()
    try:
        config = AgentConfig.build(_settings(options.set))
        tree = TREES.get(options.tree)
    except (ConfigError, UnknownName, ValueError) as error:
        print(f"ask: {error}", file=sys.stderr)
        return 2
    return asyncio.run(_ask(options.question, config, tree(config)))  # type: ignore[call-arg]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Ask the agent one question.")
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--tree", default="default", help=f"one of: {', '.join(TREES.names())}")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    return parser.parse_args()


def _settings(pairs: Iterable[str]) -> dict[str, int]:
    values = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not value.lstrip("-").isdigit():
            raise ValueError(f"--set {pair!r}: give FIELD=VALUE with a whole number")
        values[name] = int(value)
    return values


async def _ask(question: str, config: AgentConfig, tree: DecisionTree) -> int:
    cancellation = Cancellation()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, cancellation.request)
    async with _model() as model:
        plain = [tool for name, tool in TOOLS if name != "delegate_librarian"]
        librarian = Librarian(model=model, tools=ToolExecutor(plain))
        chunks = run(
            AgentState(user_id="you", project_id="example", config=config),
            Conversation(system=system_prompt("example"), question=question),
            tree=tree,
            model=model,
            tools=ToolExecutor([tool for _, tool in TOOLS], [librarian]),
            clock=LoopClock(),
            cancellation=cancellation,
        )
        print(f"? {question}")
        outcome = "failed"
        async for chunk in chunks:
            _show(chunk)
            if isinstance(chunk, Done):
                outcome = chunk.outcome
    return EXIT[outcome]


@asynccontextmanager
async def _model() -> AsyncIterator[ChatModel]:
    base_url = os.environ.get("ORACLE_LLM_BASE_URL", "")
    name = os.environ.get("ORACLE_LLM_MODEL", "demonstration")
    key = os.environ.get("ORACLE_LLM_API_KEY", "")
    async with build_http_client() as http:
        if base_url:
            yield OpenAIChatModel(http, base_url, name, api_key=key, clock=LoopClock())
            return
        from docs.examples.demonstration import endpoint

        print("(no ORACLE_LLM_BASE_URL: playing a scripted demonstration)\n")
        async with endpoint() as url:
            yield OpenAIChatModel(http, url, name, clock=LoopClock())


def _show(chunk: Chunk) -> None:
    indent = "    " if chunk.parent else ""
    match chunk:
        case Content(content=text) if not chunk.parent:
            print(text, end="", flush=True)
        case Thinking(content=text) if not chunk.parent:
            print(f"\033[2m{text}\033[0m", end="", flush=True)
        case ToolCalled(tool_call=call) if call.status != "pending":
            print(f"\n{indent}- {call.name} {call.arguments} [{call.status}]")
        case ToolResult(tool_result=result, ok=ok, duration_ms=ms):
            print(f"{indent}  {'ok' if ok else 'failed'} after {ms} ms: {result[:200]}")
        case System(system_message=message):
            print(f"\n{indent}! {message}")
        case Error(error=error):
            print(f"\nError: {error}")
        case Done():
            print(f"\n\n{chunk.explanation}".rstrip())
            print(
                f"\n[{chunk.outcome}: {chunk.termination_reason}; {chunk.turns_used} turns, "
                f"{chunk.tokens_used:,} tokens ({chunk.usage_source}), {chunk.model_used}]"
            )
        case _:
            pass


if __name__ == "__main__":
    sys.exit(main())
