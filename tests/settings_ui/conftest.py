"""What the tests of settings share."""

from collections.abc import Iterator

import pytest

from tests.support.history_rewriting import made_up


@pytest.fixture(autouse=True)
def past(request: pytest.FixtureRequest) -> Iterator[None]:
    yield from made_up(request)
