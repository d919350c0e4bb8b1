"""Tools that need nothing but their arguments."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.tools.builtin import calculate, current_time, think
from agents.tools.definition import ToolFailed
from tests.support.timing import measure_multiple
from tests.support.virtual import run_virtual

LONGEST = "1+" * 149 + "1"
MOST = 5.0
"""Times the work for the longest expression."""
HOSTILE = [
    "9**9**9",
    "9**9**9**9",
    "10**1000",
    "2**-1000",
    "10**60**2",
    "(10**60)**100**1",
    "__import__('os').system('true')",
    "().__class__",
    "open('/etc/passwd')",
    "'a'*10**9",
    "[0]*10**9",
    "(1,2)",
    "lambda: 1",
    "x",
    "x := 5",
    "1 if 1 else 2",
    "1 < 2",
    "True",
    "None",
    "1j",
    "(-8)**0.5",
    "1/0",
    "1//0",
    "5%0",
    "0**-1",
    "1e308*10",
    "1e999",
    "1e999-1e999",
    "1<<100",
    "~1",
    "not 1",
    "",
    "   ",
    "1 +",
    "1; 2",
    "1\n2",
    "1\x002",
    "\ud800",
    "f'{1}'",
    "(" * 150 + ")" * 150,
    "9" * 299,
    "1+" * 200,
    "[" * 299,
]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("(3 + 4) * 2 ** 8 / 5", "358.4"),
        ("-7 // 2", "-4"),
        ("7 % 4", "3"),
        ("--+5", "5"),
        (" 2 ** 100 ", str(2**100)),
        ("1_000 * 1_000", "1000000"),
        ("0.1 + 0.2", str(0.1 + 0.2)),
        ("1e3", "1000.0"),
        ("2 ** -2", "0.25"),
        ("-" * 250 + "1", "1"),
    ],
)
async def test_arithmetic_is_worked_out(expression: str, value: str) -> None:
    assert await calculate(expression) == value


@pytest.mark.parametrize("expression", HOSTILE, ids=lambda e: ascii(e)[:30])
def test_what_is_not_arithmetic_or_too_large_is_refused_with_little_work(expression: str) -> None:
    def refuse() -> None:
        with pytest.raises(ToolFailed) as refusal:
            run_virtual(calculate(expression))
        assert len(str(refusal.value)) < 1_000

    assert measure_multiple(refuse, add_up, enough=MOST) <= MOST


def add_up() -> None:
    assert run_virtual(calculate(LONGEST)) == "150"


@given(st.text(alphabet="0123456789+-*/%(). e_j'xab\n", max_size=60))
def test_any_expression_is_worked_out_or_refused(expression: str) -> None:
    def answer() -> None:
        try:
            value = run_virtual(calculate(expression))
        except ToolFailed:
            pass
        else:
            assert math.isfinite(float(value))

    assert measure_multiple(answer, add_up, enough=MOST) <= MOST


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.sampled_from("+-*"))
def test_it_agrees_with_python(first: int, second: int, sign: str) -> None:
    wanted = {"+": first + second, "-": first - second, "*": first * second}[sign]
    assert run_virtual(calculate(f"({first}) {sign} ({second})")) == str(wanted)


async def test_a_long_expression_is_refused() -> None:
    with pytest.raises(ToolFailed, match="longer than 300"):
        await calculate("1+" * 150 + "1")


async def test_the_time_is_now_in_utc() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    told = datetime.fromisoformat(await current_time())
    assert told.utcoffset() == UTC.utcoffset(None)
    assert before <= told <= datetime.now(UTC)


async def test_a_thought_changes_nothing() -> None:
    assert await think("Hm.") == "Noted."
