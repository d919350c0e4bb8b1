"""Behaviours that nobody would write, from a seed: every kind of node, wherever it may stand."""

import random
from collections.abc import Callable

SCHEMA = '{:plan "" :topics ["a" "b" "c"] :found [] :depth 2 :thing any}'
_TOOLS = ("read", "list", "fail", "save", "slow", "hang", "delegate_librarian", "unknown")
_CONDITIONS = (
    '"lower(plan) == \\"none\\""',
    '"turn.number > 2"',
    '"history.total_failures == 0"',
    '"len(topics) / depth > 1"',
    '"question != plan and not turn.answered"',
    "has-tool-calls?",
)
_TEXTS = ("Go on.", "{plan}", "{question} {topics} {depth}", "[Oracle: {plan}]", "x" * 3_000)
_VALUES = ('"{plan}+"', "3", "nil", "[1 2]", '(expr "len(topics)")', "(config :token_budget)")


def write_behaviour(rng: random.Random) -> str:
    cleanup = f" :finally {_write_quiet(rng, 0)}" if rng.random() < 0.3 else ""
    return f'(tree "made-up" :blackboard-schema {SCHEMA} {_write_node(rng, 0)}{cleanup})'


def _write_node(rng: random.Random, depth: int) -> str:
    makers: tuple[Callable[[random.Random, int], str], ...] = (
        (_write_several, _write_several, _write_repeater, _write_loop, _write_decorated)
        if depth < rng.choice((2, 3, 4))
        else (_write_turn, _write_turn, _write_turn, _write_call, _write_parallel, _write_quiet)
    )
    return rng.choice(makers)(rng, depth)


def _write_several(rng: random.Random, depth: int) -> str:
    nodes = " ".join(_write_node(rng, depth + 1) for _ in range(rng.randint(1, 4)))
    return f"({rng.choice(('sequence', 'selector'))} {nodes})"


def _write_repeater(rng: random.Random, depth: int) -> str:
    until = rng.choice((":until-success", ":until-failure", ""))
    most = rng.choice(("", ":max-iterations 3", ":max-iterations (blackboard :depth)"))
    return f"(repeater {until} {most} {_write_node(rng, depth + 1)})"


def _write_loop(rng: random.Random, depth: int) -> str:
    return f"(for-each (blackboard :topics) {_write_node(rng, depth + 1)})"


def _write_decorated(rng: random.Random, depth: int) -> str:
    name = rng.choice(
        (
            "retry :times 2",
            f"timeout :seconds {rng.choice((1, 5, 30))}",
            "invert",
            "always-succeed",
            f"guard :when {rng.choice(_CONDITIONS[:-1])}",
        )
    )
    if rng.random() < 0.3:
        return (
            f"(decorator {name} (decorator budget-check (sequence "
            f"(llm-call {_write_options(rng)}) {_write_quiet(rng, depth)})))"
        )
    return f"(decorator {name} {_write_node(rng, depth + 1)})"


def _write_options(rng: random.Random) -> str:
    tools = rng.choice((":all", ":reading", ":none", '[read "list"]'))
    options = {
        "say": f'"{rng.choice(_TEXTS)}"',
        "tools": tools,
        "into": rng.choice((":plan", ":thing")),
        "budget": rng.choice(("1", "300", "(blackboard :depth)", "0")),
        "timeout": rng.choice(("1", "20")),
    }
    return " ".join(f":{name} {value}" for name, value in options.items() if rng.random() < 0.4)


def _write_turn(rng: random.Random, depth: int) -> str:
    interim = ':interim "Plan"' if rng.random() < 0.5 else ""
    return f"(turn {interim} {_write_options(rng)})"


def _write_call(rng: random.Random, depth: int) -> str:
    args = rng.choice((":args {:page (blackboard :depth)}", ':args {:task "{plan}"}', ""))
    return f"(call {rng.choice(_TOOLS)} {args} {rng.choice(('', ':into :plan', ':into :thing'))})"


def _write_parallel(rng: random.Random, depth: int) -> str:
    policy = rng.choice(
        (
            "",
            ":policy :require-all",
            ":policy :require-one",
            ":policy :require-one :wait-for-all",
            ":policy :continue-on-failure :max 2",
        )
    )
    if rng.random() < 0.5:
        one = f'(call {rng.choice(_TOOLS)} :args {{:page "{{item}}"}} :into :found)'
        return f"(parallel {policy} (for-each (blackboard :topics) {one}))"
    calls = " ".join(f"(call {rng.choice(_TOOLS)})" for _ in range(rng.randint(1, 8)))
    return f"(parallel {policy} {calls})"


def _write_quiet(rng: random.Random, depth: int) -> str:
    """What asks no model and calls no tool."""
    key = rng.choice(("plan", "topics", "depth", "thing"))
    value = {"plan": '"{plan}{plan}x"', "topics": "(lines (blackboard :plan))", "depth": "0"}
    nodes = (
        "(succeed)",
        '(fail "No.")',
        f"(condition {rng.choice(_CONDITIONS)})",
        f"(set :{key} {value.get(key, rng.choice(_VALUES))})",
        f'(notify "{rng.choice(_TEXTS)}")',
        '(action any :fn "tools.plan")',
    )
    ending = ("(stop behaviour_ended)", '(approve "May I?\\n{plan}")') if depth else ()
    chosen: str = rng.choice((*nodes, *ending) if rng.random() < 0.3 else nodes)
    return chosen
