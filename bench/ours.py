"""Our loop with its client and executor, as a peer of the yardstick's harness.

Started by `bench/__main__.py` with the yardstick's `floor` folder on PYTHONPATH.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from common import SYSTEM, bench, imports  # type: ignore[import-not-found]  # the yardstick's

with imports():
    import agents.core.decisions.trees  # noqa: F401  # registers the trees, as a server would
    from agents.core.chunks import Content
    from agents.core.clock import LoopClock
    from agents.core.config import AgentConfig
    from agents.core.decisions.trees.default import DefaultDecisionTree
    from agents.core.loop import ConversationInput, run
    from agents.core.state import AgentState
    from agents.llm import OpenAIChatModel, build_http_client
    from agents.tools.definition import define
    from agents.tools.executor import ToolExecutor


class BenchConfig(AgentConfig):
    """The harness makes up to 51 turns of one run: more than a user may ask for."""

    max_iterations: int = 60
    token_budget: int = 1_000_000


CONFIG = BenchConfig()


async def setup(base_url: str) -> Callable[..., Awaitable[None]]:
    http = build_http_client()
    model = OpenAIChatModel(http, base_url, "fake", api_key="sk-fake", clock=LoopClock())

    async def one(
        prompt: str, on_token: Callable[[str], None], echo_text: Callable[[str], str]
    ) -> None:
        async def echo(text: str) -> str:
            """Echo the text back."""
            return echo_text(text)

        state = AgentState(user_id="1", project_id="1", config=CONFIG)
        async for chunk in run(
            state,
            ConversationInput(system=SYSTEM, question=prompt),
            tree=DefaultDecisionTree(CONFIG),
            model=model,
            tools=ToolExecutor([define(echo)]),
            clock=LoopClock(),
        ):
            if type(chunk) is Content:
                on_token(chunk.content)

    setattr(one, "close", http.aclose)  # noqa: B010  # the harness looks for it there
    return one


def main() -> None:
    peer: Any = bench
    peer("ours", setup, packages=("httpx", "pydantic"))


if __name__ == "__main__":
    main()
