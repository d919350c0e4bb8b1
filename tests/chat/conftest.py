"""What the tests of the chat share."""

from collections.abc import Iterator

import pytest

from chat.rendering import quota
from tests.support.history_rewriting import made_up


@pytest.fixture(autouse=True)
def past(request: pytest.FixtureRequest) -> Iterator[None]:
    yield from made_up(request)


@pytest.fixture(autouse=True)
def nobody_owes_anything() -> None:
    """The people of the next test have the ids of the last one's."""
    quota._buckets.clear()
