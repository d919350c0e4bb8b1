"""The runtime of a process leaves nothing behind when it closes."""

import threading

import pytest

from agents.runtime import open_runtime
from agents.tools.blocking import THREADS

pytestmark = pytest.mark.django_db(transaction=True)


async def test_threads_of_tools_that_wait_for_a_call_end_with_it() -> None:
    async with open_runtime():
        waiting = await THREADS.run(threading.current_thread)
        assert waiting.is_alive()
    assert not waiting.is_alive()
