"""How late a reader is: from the moment the model wrote a token to the one that a reader has it.

Fifty runs at once, a token every 50 ms each, stored on SQLite and read back in the same process.
The control takes turns with it in the same process: fifty bare streams that nobody stores. What
counts is ours minus the control. What is in memory before is frozen, as `serve` does: collecting it
stops everything for a tenth of a second. `python -m bench.delay --base-url URL` prints one JSON
line.
"""

# Imported first: it sets Django up.
from bench.site import BenchRunFactory, build_requests  # isort: skip

import argparse
import asyncio
import gc
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

from agents.core.chunks import Content
from agents.llm import build_http_client
from agents.runtime import RunRequest, Runtime

RUNS = 50
TOKENS = 60
DIRECTIVE = {"turns": 0, "content_tokens": TOKENS, "token_delay_ms": 50, "stamp": True}
TICK_SECONDS = 0.005


@dataclass
class Lags:
    """Milliseconds, of every token and of the first of each run."""

    every: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    timer: list[float] = field(default_factory=list)

    def record(self, text: str, *, is_first: bool) -> None:
        now = time.time_ns()
        found = [(now - int(stamp)) / 1e6 for stamp in text.split()]
        self.every += found
        if is_first:
            self.first.append(found[0])

    def figures(self) -> dict[str, float]:
        return {
            "p50": percentile(self.every, 0.5),
            "p99": percentile(self.every, 0.99),
            "first_p95": percentile(self.first, 0.95),
            "timer_p99": percentile(self.timer, 0.99),
        }


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def watch_timer(lags: Lags) -> None:
    while True:
        due = time.perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        lags.timer.append((time.perf_counter() - due) * 1e3)


async def run_round(one: Callable[[Lags], Awaitable[None]]) -> Lags:
    """Fifty at once. They begin within a second, not in one instant: people do not march."""
    lags = Lags()
    timer = asyncio.create_task(watch_timer(lags))

    async def later(number: int) -> None:
        await asyncio.sleep(number / RUNS)
        await one(lags)

    await asyncio.gather(*(later(number) for number in range(RUNS)))
    timer.cancel()
    assert len(lags.every) == RUNS * TOKENS
    return lags


async def main(base_url: str, rounds: int, request: Callable[[str], RunRequest]) -> None:
    async with build_http_client() as http, Runtime(BenchRunFactory(http, base_url)) as runtime:

        async def ours(lags: Lags) -> None:
            run = await runtime.start(request(json.dumps(DIRECTIVE)))
            heard = False
            async for chunk in runtime.follow(run.pk):
                if type(chunk) is Content:
                    lags.record(chunk.content, is_first=not heard)
                    heard = True

        async def bare(lags: Lags) -> None:
            await follow_bare_stream(http, base_url, lags)

        found = []
        for _ in range(rounds):
            control, measured = await run_round(bare), await run_round(ours)
            found.append((control.figures(), measured.figures()))
    names = found[0][0]
    report = {
        name: {
            "control": statistics.median(control[name] for control, _ in found),
            "ours": statistics.median(measured[name] for _, measured in found),
            "above": statistics.median(
                measured[name] - control[name] for control, measured in found
            ),
        }
        for name in names
    }
    print(json.dumps(report))


async def follow_bare_stream(http: httpx.AsyncClient, base_url: str, lags: Lags) -> None:
    """One bare stream: bytes in, text out, nothing kept."""
    body = {
        "model": "fake",
        "stream": True,
        "messages": [{"role": "user", "content": json.dumps(DIRECTIVE)}],
    }
    heard = False
    async with http.stream("POST", f"{base_url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: {"):
                continue
            choices = json.loads(line[6:])["choices"]
            text = choices[0]["delta"].get("content") if choices else None
            if text:
                lags.record(text, is_first=not heard)
                heard = True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    request = build_requests(users=30)
    gc.collect()
    gc.freeze()
    asyncio.run(main(options.base_url, options.rounds, request))
