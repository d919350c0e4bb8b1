"""Short versions of the scenarios on PostgreSQL and Redis, with two server processes."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import psycopg
import pytest

from agents.ledger import NO_ANSWER
from agents.ledger.db_errors import NO_CONNECTION
from tests.faults import (
    approvals,
    cancel,
    fencing,
    hints,
    idempotence,
    kill,
    postgres_restart,
    reconnect,
    reminders,
    sigterm,
    subagent,
)
from tests.faults.polling import until
from tests.faults.site import Bench, Server
from tests.support.services import Postgres
from tests.support.timing import PATIENCE

pytestmark = [pytest.mark.scale, pytest.mark.early]


async def test_nothing_is_lost_when_one_of_the_servers_is_killed(scale_bench: Bench) -> None:
    assert (await kill.play(scale_bench, random.Random(1), rounds=2)).broken == []


async def test_a_killed_server_runs_no_approved_call_twice(scale_bench: Bench) -> None:
    assert (await approvals.play(scale_bench, random.Random(1), rounds=3)).broken == []


async def test_a_killed_server_has_each_reminder_told_once(scale_bench: Bench) -> None:
    assert (await reminders.play(scale_bench, random.Random(1), rounds=2)).broken == []


async def test_somebody_who_comes_back_anywhere_gets_the_rest(scale_bench: Bench) -> None:
    assert (await reconnect.play(scale_bench, random.Random(1), rounds=40)).broken == []


async def test_starts_that_meet_on_two_servers_are_one_run(scale_bench: Bench) -> None:
    assert (await idempotence.play(scale_bench, random.Random(1), rounds=2)).broken == []


async def test_an_owner_that_stood_still_too_long_is_refused(scale_bench: Bench) -> None:
    assert (await fencing.play(scale_bench, random.Random(1), rounds=1)).broken == []


async def test_a_run_is_cancelled_through_the_other_server(scale_bench: Bench) -> None:
    assert (await cancel.play(scale_bench, random.Random(1), rounds=8)).broken == []


async def test_a_stopped_server_settles_its_runs(scale_bench: Bench) -> None:
    assert (await sigterm.play(scale_bench, random.Random(1), rounds=4)).broken == []


async def test_a_listener_that_hears_nothing_for_long_still_listens(scale_bench: Bench) -> None:
    assert (await hints.idle(scale_bench, random.Random(1), rounds=1)).broken == []


async def test_viewers_catch_up_when_redis_is_restarted(scale_bench: Bench) -> None:
    assert (await hints.play(scale_bench, random.Random(1), rounds=1)).broken == []


async def test_runs_go_on_when_redis_is_lost(scale_bench: Bench) -> None:
    assert (await hints.lost(scale_bench, random.Random(1), rounds=1)).broken == []


async def test_runs_go_on_when_postgresql_is_restarted(scale_bench: Bench) -> None:
    assert (await postgres_restart.play(scale_bench, random.Random(1), rounds=1)).broken == []


async def test_nothing_is_left_of_what_a_subagent_did_not_finish(scale_bench: Bench) -> None:
    assert (await subagent.play(scale_bench, random.Random(1), rounds=2)).broken == []


async def test_readyz_names_a_database_that_stands_still_and_connections_that_are_used_up(
    scale_bench: Bench,
) -> None:
    postgres = scale_bench.postgres
    assert postgres is not None
    async with scale_bench.site() as site:
        server = await site.serve()
        await says(server, "ready")
        with standing_still(postgres):
            await says(server, NO_ANSWER)
        await says(server, "ready")
        with ExitStack() as taken:

            async def is_full() -> bool:
                with suppress(psycopg.OperationalError):
                    while True:
                        taken.enter_context(psycopg.connect(postgres.address()))
                return await readyz(server) == NO_CONNECTION

            await until(is_full, PATIENCE)
        await says(server, "ready")


@contextmanager
def standing_still(postgres: Postgres) -> Iterator[None]:
    postgres.stand_still(True)
    try:
        yield
    finally:
        postgres.stand_still(False)


async def says(server: Server, text: str) -> None:
    """Wait until /readyz says this."""

    async def is_so() -> bool:
        return await readyz(server) == text

    await until(is_so, PATIENCE)


async def readyz(server: Server) -> str:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        answer = await http.get(f"{server.address}/readyz")
    assert answer.status_code == (200 if answer.text == "ready" else 503)
    return answer.text
