"""Random runs: configurations, scripts, tools and faults from a seed, and what must hold of each.

A scenario plays in virtual time through the real client, over a transport that counts every
character it delivered. `judge` checks accounts and deadlines of the run from the outside: from the
requests that arrived, the bytes that were delivered, the tools that ran and the chunks that came.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from agents.core.behaviours.run_interface import CALLS_LABEL
from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Content,
    Decision,
    Done,
    Hint,
    OracleStreamChunk,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.config import LIMITS, AgentConfig
from agents.core.control.observers import Observer
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.decisions.trees.quick import QuickTree
from agents.core.loop import Control, ConversationInput, run
from agents.core.messages import TokenUsage, ToolCall, ToolOutcome, ToolSchema
from agents.core.notify import Subscriber
from agents.core.ports import ToolContext, ToolRunner
from agents.core.run_record import RunRecord
from agents.core.state import AgentState
from agents.core.tokens import CHARS_PER_TOKEN, MIN_ANSWER_TOKENS, message_chars, schema_chars
from agents.llm import OpenAIChatModel
from agents.tools import registry
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from tests.support.script import (
    FAULTS,
    STREAM_FAULTS,
    Body,
    Call,
    Fault,
    Reply,
    Script,
    is_tool_free,
)
from tests.support.tools import (
    FakeTools,
    blocks_a_thread,
    fails,
    hangs,
    raises,
    refuses,
    returns,
    slow,
    swallows_cancellation,
)
from tests.support.transport import ScriptedTransport
from tests.support.virtual import VirtualClock

WORDS = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "<b>",
    "{x}",
    "`code`",
    "ünï",
    "日本",
)
STEADY = ("read", "list", "fail", "refuse", "save")
MOST_UNREAD = 400  # tokens that may have arrived and wait to be read when the budget is reached
LONGEST_LINE = 1 << 20  # a longer one is a fault, and nothing of it is an answer
UNSTEADY = (
    "slow",
    "hang",
    "deaf",
    "dozy",
    "block",
    "crash",
    "huge",
    "unknown",
    "delegate_librarian",
)


class AlwaysYes(DefaultDecisionTree):
    """A tree that never wants to stop."""

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return True, ""


@dataclass
class Scenario:
    """Everything about one run that is decided beforehand."""

    seed: int
    config: AgentConfig
    tree: DefaultDecisionTree
    question: str
    cancel_after: float | None
    reader_pauses: bool
    """Whether the reader of the chunks lets others run in between."""
    steady_usage: bool
    """Whether the provider's usage follows from what was sent, so that a forecast can hold."""
    tokens_per_char: float
    rng: random.Random

    @classmethod
    def of(cls, seed: int) -> "Scenario":
        rng = random.Random(seed)
        config = _config(rng)
        tree = rng.choices([DefaultDecisionTree, QuickTree, AlwaysYes], [6, 2, 2])[0](config)
        question = " ".join(rng.choices(WORDS, k=rng.choice([3, 3, 3, 30, 2_000])))
        # Delays of replies are multiples of 0.5 s: half of the cancellations meet one exactly.
        moment = rng.choice([rng.uniform(0, config.timeout_seconds), rng.randrange(20) / 2])
        cancel = min(moment, config.timeout_seconds - 1) if rng.random() < 0.15 else None
        pauses, steady = rng.random() < 0.5, rng.random() < 0.6
        rate = rng.uniform(0.15, 0.6)
        return cls(seed, config, tree, question, cancel, pauses, steady, rate, rng)

    def script(self) -> Script:
        habit = self.rng.choice(["steady", "unsteady", "stuck", "chatty", "faulty"])
        stuck = Call("read", {"page": 1})

        def step(body: Body) -> Reply:
            return self._reply(body, habit, stuck)

        return Script((), then=step)

    def _reply(self, body: Body, habit: str, stuck: Call) -> Reply:
        rng = self.rng
        text = " ".join(rng.choices(WORDS, k=rng.choice([0, 0, 5, 40])))
        wanted: tuple[Call, ...] = ()
        if rng.random() < (0.3 if is_tool_free(body) else 0.85):
            names = STEADY if habit != "unsteady" else STEADY + UNSTEADY
            wanted = tuple(
                stuck if habit == "stuck" else _call(rng, names)
                for _ in range(rng.choice([1, 1, 1, 2, 3, 9]))
            )
        elif habit == "chatty":
            text = " ".join(rng.choices(WORDS, k=3_000))
        slow_end = is_tool_free(body) and rng.random() < 0.4
        if slow_end:
            text = " ".join(rng.choices(WORDS, k=60))
        faulty = rng.random() < (0.3 if habit == "faulty" else 0.03)
        fault = _fault(rng) if faulty else None
        return Reply(
            text=text,
            thinking=rng.choice(["", "", "hmm " * 5]),
            calls=wanted,
            finish=rng.choices(["auto", None, "length", "content_filter", "odd"], [40, 2, 1, 1, 1])[
                0
            ],
            usage=self._steady_usage(body, text, wanted) if self.steady_usage else _usage(rng),
            delay=rng.choice([0, 0, 0, 0.5, 5]),
            piece_delay=rng.choice([0.3, 0.9]) if slow_end else rng.choice([0, 0, 0.01, 0.3]),
            fault=fault,
        )

    def _steady_usage(self, body: Body, text: str, wanted: tuple[Call, ...]) -> TokenUsage:
        """What a tokenizer of one's own counts, always by the same measure."""
        sent = sum(map(message_chars, body["messages"])) + schema_chars(body.get("tools", ()))
        written = len(text) + sum(len(call.name) + len(str(call.arguments)) for call in wanted)
        return TokenUsage(
            round(sent * self.tokens_per_char), round(written * self.tokens_per_char) + 1
        )


def _usage(rng: random.Random) -> Any:
    """Usage as it may come: true, absent, or made up."""
    return rng.choice(["auto", "auto", None, TokenUsage(rng.randrange(20, 2_000), 50)])


def _fault(rng: random.Random) -> Fault:
    name = rng.choice(FAULTS)
    return Fault(name, after=rng.choice([None, 0, 1, 3]) if name in STREAM_FAULTS else None)


def _config(rng: random.Random) -> AgentConfig:
    """Small limits more often than large ones, and the exact bounds now and then."""
    values: dict[str, int] = {}
    for name, limit in LIMITS.items():
        low, high = limit.minimum, limit.maximum
        span = high - low
        values[name] = rng.choice(
            [low, low + span // 50, low + rng.randrange(span // 8 + 1), limit.default, high]
        )
    values["max_iterations"] = rng.choice([1, 2, 3, 4, 5, 8, 15, 15, 30, 50])
    return AgentConfig(**values)


def _call(rng: random.Random, names: tuple[str, ...]) -> Call:
    name = rng.choice(names)
    if name == "delegate_librarian":
        return Call(name, {"task": "summarise"})
    broken = rng.random() < 0.05
    return Call(
        name,
        '{"page": ' if broken else {"page": rng.randrange(20)},
        id=rng.choice([None, None, None, "same", ""]),
    )


# -- the world of a run ---------------------------------------------------------------------------


class Delivered(ScriptedTransport):
    """A transport that keeps the bytes that each answer has really handed over."""

    def __init__(self, scripts: Any) -> None:
        super().__init__(scripts)
        self.bytes: dict[int, bytearray] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        number = len(self.requests)
        response = await super().handle_async_request(request)
        if request.method == "GET":  # the list of models, which an error may ask for
            return response
        kept = self.bytes.setdefault(number, bytearray())
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Kept(response.stream, kept)
        return response

    def answered(self, key: str) -> int:
        """Requests whose answer began: any content, call or end of it was delivered."""
        return sum(
            _is_answer(bytes(self.bytes.get(number, b"")))
            for number, request in enumerate(self.requests)
            if request.key == key
        )

    def text(self, key: str) -> str:
        """Every character of content that was delivered to a model's readers."""
        return "".join(
            _content(bytes(self.bytes.get(number, b"")))
            for number, request in enumerate(self.requests)
            if request.key == key
        )


class _Kept(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, kept: bytearray) -> None:
        self._stream = stream
        self._kept = kept

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._kept.extend(data)
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


def _is_answer(data: bytes) -> bool:
    """Whether a reader of these bytes has seen anything of an answer."""
    for event in _events(data):
        for choice in event.get("choices", ()):
            delta = choice.get("delta", {})
            if choice.get("finish_reason") or any(delta.get(name) for name in _ANSWERING):
                return True
    return False


_ANSWERING = ("content", "tool_calls", "reasoning_content")


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    """The whole events at the start of a stream, up to its first fault."""
    *lines, _ = data.split(b"\n")
    for line in lines:
        if len(line) > LONGEST_LINE:
            return
        if line.startswith(b"data: {"):
            try:
                event = json.loads(line[6:])
            except ValueError:
                return
            if "error" in event:
                return
            yield event


def _content(data: bytes) -> str:
    """The content deltas of the whole events at the start of a stream, up to its first fault."""
    return "".join(
        choice.get("delta", {}).get("content") or ""
        for event in _events(data)
        for choice in event.get("choices", ())
    )


class Tools:
    """The tools of a run: the fakes, and the real librarian beside them."""

    def __init__(self, fakes: FakeTools, librarian: Librarian) -> None:
        self.fakes = fakes
        self._executor = ToolExecutor([registry.get("delegate_librarian")], [librarian])
        self._in_flight = 0
        self.most_at_once = 0

    def schemas(self) -> tuple[ToolSchema, ...]:
        return (*self.fakes.schemas(), *self._executor.schemas())

    def writes(self, name: str) -> bool:
        return self.fakes.writes(name)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        runner: ToolRunner = self._executor if call.name.startswith("delegate") else self.fakes
        self._in_flight += 1
        self.most_at_once = max(self.most_at_once, self._in_flight)
        try:
            return await runner.run(call, context)
        finally:
            self._in_flight -= 1


def fake_tools() -> FakeTools:
    return FakeTools(
        {
            "read": lambda **args: f"page {args.get('page')}",
            "list": returns("a, b, c"),
            "fail": fails("it is broken"),
            "refuse": refuses(),
            "save": returns("saved", writes=True),
            "slow": slow(7),
            "hang": hangs(),
            "deaf": swallows_cancellation(3_600),
            "dozy": swallows_cancellation(9.5),
            "block": blocks_a_thread(),
            "crash": raises(RuntimeError("boom")),
            "huge": returns("x" * 300_000),
        }
    )


@dataclass
class Verdict:
    """What happened in one run, and everything that was wrong with it."""

    seed: int
    reason: str = ""
    lateness: float | None = None
    """Seconds from the limit (or the cancellation) to the terminal record."""
    problems: list[str] = field(default_factory=list)

    def expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)


async def play(
    seed: int,
    kept: list[OracleStreamChunk] | None = None,
    observer: Observer | None = None,
    subscribers: Sequence[Subscriber] = (),
    control: Control | None = None,
) -> Verdict:
    """Play a scenario and judge it. Whoever wants the chunks gives a list to keep them in."""
    scenario = Scenario.of(seed)
    clock = VirtualClock()
    cancellation = Cancellation()
    chunks = [] if kept is None else kept
    with fake_tools() as fakes, fake_tools() as sub_fakes:
        scripts = {"main": scenario.script(), "sub": scenario.script()}
        async with Delivered(scripts) as transport:
            async with httpx.AsyncClient(transport=transport) as http:
                models = {
                    name: OpenAIChatModel(
                        http, transport.base_url, name, clock=clock, rng=random.Random(seed)
                    )
                    for name in scripts
                }
                librarian = Librarian(model=models["sub"], tools=sub_fakes, seconds=60)
                tools = Tools(fakes, librarian)
                if scenario.cancel_after is not None:
                    asyncio.get_running_loop().call_later(
                        scenario.cancel_after, cancellation.request
                    )
                async for chunk in run(
                    AgentState(user_id="1", project_id="1", config=scenario.config),
                    ConversationInput(system="You are a test.", question=scenario.question),
                    tree=scenario.tree,
                    model=models["main"],
                    tools=tools,
                    clock=clock,
                    cancellation=cancellation,
                    observer=observer,
                    control=control or Control(subscribers=tuple(subscribers)),
                ):
                    chunks.append(chunk)
                    if scenario.reader_pauses:
                        await asyncio.sleep(0)
            began = clock.time() - clock.monotonic()
            behaviour = control.behaviour if control is not None else None
            has_branches = behaviour is not None and behaviour.name != "oracle-agent"
            return judge(scenario, chunks, transport, tools.most_at_once, began, has_branches)


# -- judgement ------------------------------------------------------------------------------------


def judge(
    scenario: Scenario,
    chunks: list[OracleStreamChunk],
    transport: Delivered,
    most_at_once: int,
    began: float,
    has_branches: bool = False,
) -> Verdict:
    verdict = Verdict(scenario.seed)
    limits = scenario.config.restrict_to(scenario.tree.get_config())
    done = chunks[-1]
    if not isinstance(done, Done):
        verdict.problems.append(f"the last chunk is {type(done).__name__}")
        return verdict
    verdict.reason = done.termination_reason
    _judge_form(verdict, chunks)
    _judge_reason(verdict, chunks, done, limits)
    _judge_late_warnings(verdict, chunks)
    _judge_turns(verdict, chunks, limits, transport)
    _judge_tools(verdict, chunks, limits, most_at_once)
    _judge_tokens(verdict, chunks, limits, transport)
    _judge_token_warning(verdict, scenario, chunks)
    _judge_errors(verdict, scenario, chunks)
    _judge_text(verdict, chunks, transport)
    _judge_failed_requests(verdict, chunks, transport, has_branches=has_branches)
    _judge_time(verdict, scenario, chunks, done, limits, transport, began)
    return verdict


def _judge_form(verdict: Verdict, chunks: list[OracleStreamChunk]) -> None:
    verdict.expect(sum(isinstance(c, Done) for c in chunks) == 1, "not exactly one done")
    numbers = [c.seq for c in chunks]
    verdict.expect(numbers == list(range(1, len(chunks) + 1)), "numbers are not in order")
    called = {(c.parent, c.tool_call.id) for c in chunks if isinstance(c, ToolCalled)}
    results = Counter((c.parent, c.tool_call_id) for c in chunks if isinstance(c, ToolResult))
    verdict.expect(
        called == set(results) and set(results.values()) <= {1}, "not one result per call"
    )
    given = Counter(
        (c.system_type, c.metadata.get("limit_type"), c.metadata.get("phase"))
        for c in chunks
        if isinstance(c, SystemMessage) and c.system_type.endswith("_warning") and not c.parent
    )
    verdict.expect(set(given.values()) <= {1}, f"a warning came twice: {given}")
    verdict.expect(verdict.reason != "internal_error", "internal error")
    passed = [
        c for c in chunks if isinstance(c, SystemMessage) and c.system_message.startswith("Approac")
    ]
    over = [c for c in passed if c.metadata["current_value"] >= c.metadata["limit_value"]]
    verdict.expect(not over, f"approaching what is passed: {over}")


def _judge_reason(
    verdict: Verdict, chunks: list[OracleStreamChunk], done: Done, limits: AgentConfig
) -> None:
    """The reason is true when the run ends, and nothing says that a limit was reached that was
    not: counted from the chunks, and from the limits in force."""
    own = [c for c in chunks if not c.parent]
    turns = [c for c in own if isinstance(c, Turn) and c.phase == "end"]
    last = turns[-1] if turns else None
    used = sum(t.prompt_tokens + t.completion_tokens + t.subagent_tokens for t in turns)
    answered = sum(t.answered for t in turns)
    elapsed = done.at - chunks[0].at
    reached = {
        "max_iterations": answered >= limits.max_iterations,
        "token_budget": used >= limits.token_budget,
        "timeout": elapsed >= limits.timeout_seconds - 0.01,
    }
    has_failed = last is not None and last.wrap_up is not None and bool(last.failure)
    if verdict.reason == "max_iterations":
        verdict.expect(reached["max_iterations"], f"{answered} of {limits.max_iterations} used")
    if verdict.reason == "timeout" and has_failed:
        verdict.expect(reached["timeout"], f"{elapsed:.2f} of {limits.timeout_seconds} s used")
    if verdict.reason == "provider_error" and has_failed:
        verdict.expect(not any(reached.values()), f"a limit was reached: {reached}")
    if has_failed and last is not None:
        both = (verdict.reason, *done.also_triggered)
        verdict.expect({last.wrap_up, last.failure} <= {*both}, f"only {both} are kept")
    told = [
        c
        for c in own
        if isinstance(c, SystemMessage)
        and c.system_type == "limit_reached"
        and c.metadata["limit_type"] in ("iterations", "tokens", "context", "time")
    ]
    verdict.expect(not told or done.outcome == "limited", "a limit was reached that ended nothing")
    for notice in told:
        value, limit = (notice.metadata.get(name) for name in ("current_value", "limit_value"))
        words = ("Maximum iterations reached", "Token limit reached", "Time limit reached")
        is_said = notice.system_message.startswith(words)
        is_true = (
            value is None
            or limit is None
            or value >= limit
            or (last is not None and last.finish_reason == "budget")
        )
        verdict.expect(is_true or not is_said, f"said to be reached: {value} of {limit}")


def _judge_late_warnings(verdict: Verdict, chunks: list[OracleStreamChunk]) -> None:
    """No warning comes after the last request was answered, or while a last answer is written.
    Those that are due when it begins come first, with the notice that it begins."""
    own = [c for c in chunks if not c.parent]
    ends = [n for n, c in enumerate(own) if isinstance(c, Turn) and c.phase == "end"]
    starts = [n for n, c in enumerate(own) if isinstance(c, Turn) and c.phase == "start"]
    if not ends:
        return
    last, begun = own[ends[-1]], own[starts[-1]]
    assert isinstance(last, Turn)
    assert isinstance(begun, Turn)
    over = ends[-1] if last.finish_reason in ("stop", "length") and not last.interim else len(own)
    if begun.wrap_up is not None:
        heard = (n for n, c in enumerate(own) if n > starts[-1] and _is_of_model(c))
        over = next(heard, ends[-1])
    late = [c for c in own[over:] if isinstance(c, SystemMessage) and _is_warning(c)]
    verdict.expect(not late, f"warned after the last answer: {[c.system_message for c in late]}")


def _is_of_model(chunk: OracleStreamChunk) -> bool:
    return isinstance(chunk, Content | Thinking)


def _is_warning(notice: SystemMessage) -> bool:
    return notice.metadata.get("phase") == "approach"


def _judge_turns(
    verdict: Verdict, chunks: list[OracleStreamChunk], limits: AgentConfig, transport: Delivered
) -> None:
    most = limits.max_iterations
    answered = transport.answered("main")
    verdict.expect(answered <= most, f"{answered} answered requests of {most}")
    begun = max([0, *(c.number for c in chunks if isinstance(c, Turn) and not c.parent)])
    if begun >= most - 1 and most >= 3:
        warned = [
            c.metadata["current_value"]
            for c in chunks
            if isinstance(c, SystemMessage)
            and c.system_type == "limit_warning"
            and c.metadata["limit_type"] == "iterations"
            and not c.parent
        ]
        verdict.expect(bool(warned) and warned[0] <= most - 2, f"warned at {warned} of {most}")


def _judge_tools(
    verdict: Verdict, chunks: list[OracleStreamChunk], limits: AgentConfig, most_at_once: int
) -> None:
    in_turn = 0
    for chunk in chunks:
        if chunk.parent:
            continue
        if isinstance(chunk, Turn):
            in_turn = 0
        elif isinstance(chunk, ToolCalled) and chunk.tool_call.status == "running":
            in_turn += 1
            verdict.expect(in_turn <= limits.max_tool_calls_per_turn, "more calls than the cap")
    verdict.expect(most_at_once <= limits.max_parallel_tools, "more tools at once")


def _judge_tokens(
    verdict: Verdict, chunks: list[OracleStreamChunk], limits: AgentConfig, transport: Delivered
) -> None:
    used = 0
    asked: list[int] = []
    for chunk in chunks:
        if chunk.parent or not isinstance(chunk, Turn | Decision):
            continue
        if isinstance(chunk, Decision):
            fired = {check.rule for check in chunk.checks if check.fired}
            verdict.expect(
                not (chunk.goes_on and "token_budget" in fired), "went on when forecast said no"
            )
        elif chunk.phase == "start":
            verdict.expect(used < limits.token_budget, "asked with the budget spent")
            if chunk.interim != CALLS_LABEL:
                asked.append(used)
        else:
            used += chunk.prompt_tokens + chunk.completion_tokens + chunk.subagent_tokens
    done = chunks[-1]
    assert isinstance(done, Done)
    verdict.expect(done.tokens_used == used, "tokens_used is not the sum of the turns")
    if done.usage_source == "estimate":  # nobody but ourselves can be wrong then
        over = used - limits.token_budget
        verdict.expect(over <= MOST_UNREAD, f"{over} tokens over the budget")
    answered = transport.answered("main")
    verdict.expect(answered <= len(asked), f"{answered} answers in {len(asked)} turns that ask")
    tries = [r for r in transport.requests if r.key == "main"]
    for request in tries:
        most = request.body["max_tokens"]
        verdict.expect(most < limits.token_budget, "max_tokens above the budget")
    if tries and asked:
        left = limits.token_budget - asked[-1]
        verdict.expect(tries[-1].body["max_tokens"] <= left, "max_tokens above what is left")


def _judge_token_warning(
    verdict: Verdict, scenario: Scenario, chunks: list[OracleStreamChunk]
) -> None:
    """No token limit without a working turn that had heard of it, unless one step alone crossed
    warning and limit: the first prompt, an answer, a subagent, what a behaviour said. The notice
    says so then."""
    own = [chunk for chunk in chunks if not chunk.parent]
    reached = [c for c in own if _is_about_tokens(c, "limit_reached")]
    if not reached:
        return
    warned = [n for n, c in enumerate(own) if _is_about_tokens(c, "limit_warning", "approach")]
    verdict.expect(bool(warned), "the token limit came without a warning")
    if not warned:
        return
    warning = own[warned[0]]
    assert isinstance(warning, SystemMessage)
    between = any(
        isinstance(c, Turn) and c.phase == "end" and c.wrap_up is None for c in own[warned[0] :]
    )
    if between:
        return
    verdict.expect(warning.metadata["at_once"], "the model had no turn to act on the warning")
    ended = [c for c in own[: warned[0]] if isinstance(c, Turn) and c.phase == "end"]
    alone = (
        not ended
        or _took_what_nobody_foresaw(ended, scenario)
        or _was_told_too_much(own[: warned[0]], scenario)
    )
    verdict.expect(
        alone or not scenario.steady_usage, "no single step crossed both warning and limit"
    )


def _took_what_nobody_foresaw(turns: list[Turn], scenario: Scenario) -> bool:
    """Whether the last turn alone can have crossed warning and limit: by a first prompt that is
    large or dearer than estimated, an answer cut by the budget or longest by far, a subagent; by a
    prompt that had no answer."""
    last = turns[-1]
    is_large = 4 * last.prompt_tokens >= scenario.config.token_budget
    is_dear = scenario.tokens_per_char * CHARS_PER_TOKEN > 1.2
    is_first = not any(one.prompt_tokens and one.usage_source == "provider" for one in turns[:-1])
    by_prompt = (is_first and (is_large or is_dear)) or _is_lost_prompt(turns, scenario)
    was_cut = last.finish_reason == "budget"
    return by_prompt or was_cut or last.subagent_tokens > 0 or _is_longest_by_far(turns)


def _was_told_too_much(chunks: list[OracleStreamChunk], scenario: Scenario) -> bool:
    """Whether another iteration would have fitted without what was said to the model in the last
    one, which nobody knew before it began. It is in that prompt, in the next and in the answer's.
    """
    begun = max(n for n, c in enumerate(chunks) if isinstance(c, Turn) and c.phase == "start")
    said = sum(len(c.text) for c in chunks[begun:] if isinstance(c, Hint))
    checks = [c for c in chunks[begun:] if isinstance(c, Decision)][-1].checks
    (forecast,) = (check for check in checks if check.rule == "token_budget")
    assert isinstance(forecast.value, int | float)
    assert isinstance(forecast.limit, int | float)
    return forecast.value - 3 * said * scenario.tokens_per_char <= forecast.limit


def _is_lost_prompt(turns: list[Turn], scenario: Scenario) -> bool:
    """Whether the last turn took its prompt and nothing else, and was the last but one: nobody
    warns that two turns do not fit where there is only one. It is no iteration, so that the same
    turn is due again. With more turns left the forecast has to hold for the lost prompt too."""
    *earlier, last = turns
    limits = scenario.config.restrict_to(scenario.tree.get_config())
    is_prompt_alone = not (last.answered or last.completion_tokens or last.subagent_tokens)
    return is_prompt_alone and limits.max_iterations - sum(one.answered for one in earlier) == 2


def _is_longest_by_far(turns: list[Turn]) -> bool:
    """Whether the last answer took what nobody could have forecast from the ones before it."""
    *earlier, last = (turn.completion_tokens for turn in turns)
    return last > 2 * max([MIN_ANSWER_TOKENS, *earlier])


def _is_about_tokens(chunk: OracleStreamChunk, system_type: str, phase: str | None = None) -> bool:
    return (
        isinstance(chunk, SystemMessage)
        and chunk.system_type == system_type
        and chunk.metadata.get("limit_type") == "tokens"
        and phase in (None, chunk.metadata.get("phase"))
    )


def _judge_errors(verdict: Verdict, scenario: Scenario, chunks: list[OracleStreamChunk]) -> None:
    """No run goes on after three errors in a row, counted here from the results themselves."""
    if isinstance(scenario.tree, AlwaysYes):
        return
    refused: set[str] = set()
    arguments: dict[str, str] = {}
    streak = 0
    batch: list[ToolResult] = []
    shared: set[str] = set()
    for chunk in chunks:
        if chunk.parent:
            continue
        match chunk:
            case Turn(phase="start", wrap_up=None):
                verdict.expect(streak < 3, f"went on after {streak} errors in a row")
                batch, shared = [], set()
            case ToolCalled(tool_call=call):
                runs_alone = call.name == "save" or isinstance(call.arguments, str)
                arguments[call.id] = call.id if runs_alone else f"{call.name}:{call.arguments}"
                if call.status == "refused" or call.name == "refuse":
                    refused.add(call.id)
            case ToolResult(tool_call_id=call_id) if call_id not in refused:
                if not chunk.tool_result.startswith(("Not run:", "Cut: another call")):
                    batch.append(chunk)
            case Turn(phase="end"):
                streak = _errors_after(streak, batch, arguments, shared)


def _errors_after(
    streak: int, batch: list[ToolResult], arguments: dict[str, str], shared: set[str]
) -> int:
    added = 0
    for result in sorted(batch, key=lambda result: result.order):
        key = arguments[result.tool_call_id]
        if key in shared:
            continue
        shared.add(key)
        if result.ok:
            streak = added = 0
        else:
            added += 1
    return streak + min(added, 2)


def _judge_text(verdict: Verdict, chunks: list[OracleStreamChunk], transport: Delivered) -> None:
    record = RunRecord()
    for chunk in chunks:
        record.add(chunk)
    shown = "".join(c.content for c in chunks if isinstance(c, Content) and not c.parent)
    sent = transport.text("main")
    verdict.expect(shown == sent, f"text lost or made up: {len(shown)} of {len(sent)} characters")
    answer, before = split_text(chunks)
    verdict.expect(squeeze(record.answer) == squeeze(answer), "answer differs")
    kept = "".join(text for _, text in record.list_interims())
    verdict.expect(kept == before, "what was written before the answer differs")


def _judge_failed_requests(
    verdict: Verdict, chunks: list[OracleStreamChunk], transport: Delivered, *, has_branches: bool
) -> None:
    """A request that failed for good ends a run that has no branches, and is told in one that goes
    on; none is made a third time for the same lasting cause, whatever a behaviour wants."""
    failed, told, last = False, 0, ""
    for chunk in chunks:
        if chunk.parent:
            continue
        match chunk:
            case Turn(phase="start", wrap_up=None) if failed:
                verdict.expect(has_branches, "went on after a request that had failed for good")
                verdict.expect(told == 1, f"a request that failed was told {told} times")
                failed = False
            case Turn(phase="end"):
                last = chunk.finish_reason if chunk.wrap_up is None else ""
                failed, told = last in ("error", "content_filter") and chunk.wrap_up is None, 0
            case SystemMessage(system_type="provider", metadata=about) if "attempt" not in about:
                told += 1
    ended = {"provider_error": "error", "content_filter": "content_filter"}
    if last:
        verdict.expect(ended.get(verdict.reason, last) == last, f"{verdict.reason} after {last}")
    faults = [r.reply.fault for r in transport.requests if r.key == "main"]
    causes = Counter(_LASTING.get(fault.name) for fault in faults if fault is not None)
    for cause in set(_LASTING.values()):
        most = 1 + has_branches
        verdict.expect(causes[cause] <= most, f"{causes[cause]} requests failed as {cause}")


def split_text(chunks: list[OracleStreamChunk]) -> tuple[str, str]:
    """The text of the answer, and of the turns that only led to it."""
    texts: dict[bool, list[str]] = {False: [], True: []}
    is_interim = False
    for chunk in chunks:
        if isinstance(chunk, Turn) and not chunk.parent:
            is_interim = bool(chunk.interim) if chunk.phase == "start" else is_interim
        elif isinstance(chunk, Content) and not chunk.parent:
            texts[is_interim].append(chunk.content)
    return "".join(texts[False]), "".join(texts[True])


_LASTING: Mapping[str, str] = {
    "status_400": "bad request",
    "status_401": "key",
    "status_403": "key",
    "status_402": "credit",
    "status_404": "model",
}
"""Faults that no further request changes, by their cause."""


def squeeze(text: str) -> str:
    """Without the empty lines that set turns apart."""
    return text.replace("\n\n", "")


def _judge_time(
    verdict: Verdict,
    scenario: Scenario,
    chunks: list[OracleStreamChunk],
    done: Done,
    limits: AgentConfig,
    transport: Delivered,
    began: float,
) -> None:
    ended = done.at - began
    late = ended - limits.timeout_seconds
    verdict.expect(late <= 0.5, f"ended {late:.2f} s after its deadline")
    match verdict.reason:
        case "user_cancelled":
            assert scenario.cancel_after is not None
            verdict.lateness = ended - scenario.cancel_after
        case "timeout":
            verdict.lateness = max(0.0, late)
        case "max_iterations" | "token_budget":
            verdict.lateness = ended - _last_heard(chunks, transport, began)
            told = ended - (_last_notice(chunks, "limit_reached") - began)
            verdict.expect(told <= 0.5, f"ended {told:.2f} s after the limit was reached")
        case "no_progress" | "error_limit":
            verdict.lateness = _notice_delay(chunks, verdict.reason)
            _judge_wrap_up(verdict, chunks, _last_notice(chunks, verdict.reason))
        case _:
            return
    verdict.expect(verdict.lateness <= 0.5, f"{verdict.reason}: {verdict.lateness:.2f} s late")


def _judge_wrap_up(verdict: Verdict, chunks: list[OracleStreamChunk], told: float) -> None:
    """After a notice that lies beyond the limit, the run has 4.5 s for its last answer."""
    took = chunks[-1].at - told
    verdict.expect(took <= 4.51, f"ended {took:.2f} s after the notice of its limit")


def _last_heard(chunks: list[OracleStreamChunk], transport: Delivered, began: float) -> float:
    """When model or tools last did anything, seen from outside: the end of the last request, or
    the last result. A run without either is over at its start."""
    asked = [r.ended_at or 0.0 for r in transport.requests if r.key == "main"]
    results = [c.at - began for c in chunks if isinstance(c, ToolResult) and not c.parent]
    return max([0.0, *asked, *results])


def _last_notice(chunks: list[OracleStreamChunk], system_type: str) -> float:
    notices = [c for c in chunks if isinstance(c, SystemMessage) and c.system_type == system_type]
    return [notice for notice in notices if not notice.parent][-1].at


def _notice_delay(chunks: list[OracleStreamChunk], system_type: str) -> float:
    """From the result that made the limit to its notice."""
    told = _last_notice(chunks, system_type)
    results = [c.at for c in chunks if isinstance(c, ToolResult) and not c.parent and c.at <= told]
    ended = [c.at for c in chunks if isinstance(c, Turn) and not c.parent and c.at <= told]
    return told - (results or ended)[-1]
