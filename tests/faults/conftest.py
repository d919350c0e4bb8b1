"""The bench that the short versions of the scenarios share."""

from collections.abc import Iterator

import pytest

from tests.faults.site import Bench
from tests.support.services import Missing, Redis
from tests.support.template import migrated_postgres

SLACK = 5.0
"""Bounds of time are for `make faults` on a quiet machine. Tests hold them, so much wider, only
where they are marked `timed`."""


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    """Sites on SQLite."""
    with Bench(slack=SLACK) as made:
        yield made


@pytest.fixture(scope="session")
def scale_bench() -> Iterator[Bench]:
    """Sites on PostgreSQL and Redis."""
    try:
        services = migrated_postgres(), Redis()
    except Missing as missing:
        pytest.skip(str(missing))
    with services[0] as postgres, services[1] as redis, Bench(postgres, redis, slack=SLACK) as made:
        yield made
