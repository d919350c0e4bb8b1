"""Short versions of the scenarios, on SQLite. `make faults` plays them in full.

In `make test-ci`, beside other tests: they mostly wait, and hold no bounds of time. Those that the
specification states are held in `make test-timed`, the others in `make test-long`.
"""

import random

import pytest

from tests.faults import (
    approvals,
    cancel,
    fencing,
    idempotence,
    kill,
    locked,
    reconnect,
    reminders,
    sigterm,
    subagent,
    summary,
)
from tests.faults.site import Bench

pytestmark = [pytest.mark.ci, pytest.mark.early]
OTHER_BOUNDS = {"kill": kill, "fencing": fencing, "locked": locked, "sigterm": sigterm}


async def test_nothing_that_was_received_is_lost_when_the_server_is_killed(bench: Bench) -> None:
    assert (await kill.play(bench, random.Random(1), rounds=2)).broken == []


async def test_somebody_who_comes_back_gets_exactly_the_rest(bench: Bench) -> None:
    assert (await reconnect.play(bench, random.Random(1), rounds=40)).broken == []


async def test_a_message_is_one_run_and_a_conversation_has_one_at_a_time(bench: Bench) -> None:
    assert (await idempotence.play(bench, random.Random(1), rounds=1)).broken == []


async def test_an_owner_that_stood_still_too_long_writes_nothing_more(bench: Bench) -> None:
    assert (await fencing.play(bench, random.Random(1), rounds=1)).broken == []


async def test_a_run_is_cancelled_from_another_process_at_once(bench: Bench) -> None:
    assert (await cancel.play(bench, random.Random(1), rounds=4)).broken == []


async def test_a_locked_database_is_waited_for_and_nothing_is_lost(bench: Bench) -> None:
    assert (await locked.play(bench, random.Random(1), rounds=1)).broken == []


async def test_a_server_that_is_stopped_settles_every_run(bench: Bench) -> None:
    assert (await sigterm.play(bench, random.Random(1), rounds=2)).broken == []


async def test_a_killed_server_leaves_nothing_of_what_a_subagent_did_not_finish(
    bench: Bench,
) -> None:
    assert (await subagent.play(bench, random.Random(1), rounds=2)).broken == []


async def test_a_killed_server_has_each_reminder_told_once(bench: Bench) -> None:
    assert (await reminders.play(bench, random.Random(1), rounds=2)).broken == []


async def test_a_killed_server_runs_no_approved_call_twice(bench: Bench) -> None:
    assert (await approvals.play(bench, random.Random(1), rounds=3)).broken == []


async def test_a_killed_server_keeps_the_result_whose_summary_was_not_finished(
    bench: Bench,
) -> None:
    assert (await summary.play(bench, random.Random(1), rounds=2)).broken == []


@pytest.mark.timed
async def test_a_run_that_is_cancelled_from_another_process_ends_in_time(bench: Bench) -> None:
    figures = await cancel.play(bench, random.Random(2), rounds=4)
    assert (figures.broken, figures.late) == ([], [])


@pytest.mark.long
@pytest.mark.timed
@pytest.mark.parametrize("name", OTHER_BOUNDS)
async def test_a_server_settles_stops_and_goes_on_in_time(bench: Bench, name: str) -> None:
    figures = await OTHER_BOUNDS[name].play(bench, random.Random(2), rounds=1)
    assert (figures.broken, figures.late) == ([], [])
