"""Randomised runs: no run over a limit, no character lost, no run late.

300 in `make test`, which kill the mutants that 2,000 do; those are in `make test-ci`, and 10,000
others in `make test-long`, which prints the figures. A run that fails is named by its seed:
`ORACLE_SEED=n make test ARGS="-k one_seed"` plays it again alone.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from agents.core.config import AgentConfig
from tests.support import scenarios
from tests.support.scenarios import Verdict, play
from tests.support.virtual import run_virtual

RUNS = 300
RARE = (303, 404, 480, 488, 520, 528, 547)
"""Seeds of endings that few others meet: truncated, stuck, filtered."""
CLUMSY = ("fail", "fail", "crash", "unknown", "refuse", "read")
CLUMSY_RUNS = 30
CI_RUNS = 2_000
LONG_RUNS = 10_000


def verdicts(seeds: Iterable[int]) -> list[Verdict]:
    return [run_virtual(play(seed), thread_grace=0.002) for seed in seeds]


def assert_flawless(found: list[Verdict]) -> None:
    wrong = [f"seed {v.seed} ({v.reason}): {'; '.join(v.problems)}" for v in found if v.problems]
    assert not wrong, f"{len(wrong)} of {len(found)} runs\n" + "\n".join(wrong[:10])


def assert_every_ending(found: list[Verdict]) -> None:
    reasons = Counter(verdict.reason for verdict in found)
    expected = {
        "user_cancelled",
        "completed",
        "max_iterations",
        "token_budget",
        "timeout",
        "no_progress",
        "error_limit",
        "output_truncated",
        "content_filter",
        "empty_answer",
        "provider_error",
    }
    assert expected <= set(reasons), f"not every ending was met: {reasons}"


def test_no_randomised_run_breaks_a_promise() -> None:
    found = verdicts([*range(RUNS), *RARE])
    assert_flawless(found)
    assert_every_ending(found)


def ample_limits(turns: int) -> AgentConfig:
    return AgentConfig(max_iterations=turns, timeout_seconds=600)


def test_no_clumsy_run_goes_on_after_three_errors_in_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Among tools that mostly work, and under tight limits, three errors in a row are rare."""
    monkeypatch.setattr(scenarios, "STEADY", CLUMSY)
    monkeypatch.setattr(scenarios, "_config", lambda dice: ample_limits(dice.randrange(4, 13)))
    found = verdicts(range(CLUMSY_RUNS))
    assert_flawless(found)
    stopped = sum(verdict.reason == "error_limit" for verdict in found)
    assert stopped >= CLUMSY_RUNS // 5, f"too few to show anything: {stopped}"


@pytest.mark.ci
def test_no_run_of_two_thousand_breaks_a_promise() -> None:
    found = verdicts(range(CI_RUNS))
    assert_flawless(found)
    assert_every_ending(found)


@pytest.mark.skipif("ORACLE_SEED" not in os.environ, reason="plays one seed when it is given")
def test_one_seed_alone() -> None:
    seed = int(os.environ["ORACLE_SEED"])
    assert_flawless(verdicts(range(seed, seed + 1)))


@pytest.mark.long
def test_ten_thousand_randomised_runs() -> None:
    found = verdicts(range(100_000, 100_000 + LONG_RUNS))
    by_reason: dict[str, list[float]] = defaultdict(list)
    for verdict in found:
        if verdict.lateness is not None:
            by_reason[verdict.reason].append(verdict.lateness)
    print(f"\n{len(found):,} runs, {sum(bool(v.problems) for v in found)} with a problem")
    print("endings:", dict(Counter(v.reason for v in found).most_common()))
    print("seconds from limit to terminal record (no_progress, error_limit: to the notice):")
    for reason, late in sorted(by_reason.items()):
        late.sort()
        p99 = late[min(len(late) - 1, int(0.99 * len(late)))]
        print(f"  {reason:16} n={len(late):5}  p99 {p99:.3f}  max {late[-1]:.3f}")
    assert_flawless(found)
