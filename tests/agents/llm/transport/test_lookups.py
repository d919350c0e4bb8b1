"""Limits on lookups of names, for each person and in all, and their messages."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from contextvars import copy_context

import pytest

from agents.llm.transport.lookups import (
    LookupRefused,
    LookupsBusy,
    LookupTimedOut,
    PersonalLookups,
    asking_person,
    look_up,
)
from tests.support.timing import PATIENCE

ADDRESS = "192.0.2.7"


class Names:
    """A resolver in which every lookup blocks its thread until its name is freed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._freed: set[str] = set()
        self.begun: list[str] = []
        self.running = 0
        self.most = 0

    def look_up(self, host: str, port: int) -> Sequence[str]:
        with self._changed:
            self.begun.append(host)
            self.running += 1
            self.most = max(self.most, self.running)
            self._changed.wait_for(lambda: {host, "*"} & self._freed, timeout=60)
            self.running -= 1
        if host.endswith("nowhere.example"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return (ADDRESS,)

    def free(self, host: str = "*") -> None:
        with self._changed:
            self._freed.add(host)
            self._changed.notify_all()


@pytest.fixture
def names() -> Iterator[Names]:
    names = Names()
    yield names
    names.free()


def ask(lookups: PersonalLookups, person: str, host: str) -> "asyncio.Task[Sequence[str]]":
    """Begin a lookup on behalf of a person."""
    context = copy_context()
    context.run(asking_person.set, person)
    return asyncio.create_task(lookups.resolve(host, 443), context=context)


async def until_begun(names: Names, *hosts: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while not set(hosts) <= set(names.begun):  # noqa: ASYNC110  # set in threads
            await asyncio.sleep(0.005)


@asynccontextmanager
async def given_up(*tasks: "asyncio.Task[Sequence[str]]") -> AsyncIterator[None]:
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_person_s_names_wait_for_their_own_and_nobody_else_does(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, threads=4, per_person=2)
    slow = [ask(lookups, "mallory", f"slow-{number}.example") for number in range(5)]
    async with given_up(*slow):
        await until_begun(names, "slow-0.example", "slow-1.example")
        names.free("models.example")
        assert await ask(lookups, "ada", "models.example") == (ADDRESS,)
        assert set(names.begun) == {"slow-0.example", "slow-1.example", "models.example"}


async def test_a_waiting_name_is_looked_up_when_one_before_it_has_returned(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, per_person=1)
    first, second = (ask(lookups, "ada", host) for host in ("a.example", "b.example"))
    await until_begun(names, "a.example")
    names.free("a.example")
    assert await first == (ADDRESS,)
    await until_begun(names, "b.example")
    names.free("b.example")
    assert await second == (ADDRESS,)
    assert names.begun == ["a.example", "b.example"]


async def test_a_lookup_that_nobody_waits_for_still_occupies_its_thread(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, per_person=2)
    slow = [ask(lookups, "mallory", f"slow-{number}.example") for number in range(2)]
    async with given_up(*slow):
        await until_begun(names, "slow-0.example", "slow-1.example")
    later = ask(lookups, "mallory", "later.example")
    async with given_up(later):
        names.free("models.example")
        await ask(lookups, "ada", "models.example")
        assert "later.example" not in names.begun
        names.free("slow-0.example")
        await until_begun(names, "later.example")


async def test_a_name_that_nobody_waits_for_any_more_is_not_looked_up(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, per_person=1)
    first = ask(lookups, "ada", "a.example")
    await until_begun(names, "a.example")
    async with given_up(ask(lookups, "ada", "b.example")):
        await asyncio.sleep(0)
    third = ask(lookups, "ada", "c.example")
    names.free()
    await asyncio.gather(first, third)
    assert names.begun == ["a.example", "c.example"]


async def test_all_people_together_have_a_bounded_number_of_threads(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, threads=3, per_person=2)
    slow = [ask(lookups, f"person {number}", f"slow-{number}.example") for number in range(9)]
    async with given_up(*slow):
        await until_begun(names, "slow-0.example", "slow-1.example", "slow-2.example")
        names.free()
        await asyncio.gather(*slow)
    assert len(names.begun) == 9
    assert names.most == 3


async def test_a_name_that_takes_too_long_is_said_to_and_one_that_waited_is_not(
    names: Names,
) -> None:
    lookups = PersonalLookups(names.look_up, per_person=1, seconds=0.2)
    slow, waiting = (ask(lookups, "mallory", host) for host in ("a.example", "b.example"))
    with pytest.raises(LookupTimedOut, match=r"a\.example"):
        await slow
    with pytest.raises(LookupRefused, match=r"b\.example"):
        await waiting


async def test_who_waits_for_the_lookups_of_others_is_told_so(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, threads=2, seconds=0.2)
    slow = [ask(lookups, "mallory", f"slow-{number}.example") for number in range(2)]
    async with given_up(*slow):
        await until_begun(names, "slow-0.example", "slow-1.example")
        with pytest.raises(LookupsBusy, match=r"models\.example"):
            await ask(lookups, "ada", "models.example")


async def test_a_lookup_that_gets_no_thread_is_refused_and_takes_no_place(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, per_person=1)
    names.free()
    before = threading.stack_size(2**50)  # more than any machine has: no thread can start
    try:
        for _ in range(2):
            with pytest.raises(LookupsBusy, match=r"models\.example"):
                await ask(lookups, "ada", "models.example")
    finally:
        threading.stack_size(before)
    assert await ask(lookups, "ada", "models.example") == (ADDRESS,)


async def test_more_than_may_wait_are_refused_at_once(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, per_person=1, waiting_per_person=2)
    slow = [ask(lookups, "mallory", f"slow-{number}.example") for number in range(3)]
    async with given_up(*slow):
        await asyncio.sleep(0)
        with pytest.raises(LookupRefused):
            await ask(lookups, "mallory", "models.example")
        names.free("models.example")
        await ask(lookups, "ada", "models.example")


async def test_a_name_that_does_not_exist_is_an_error_of_the_resolver(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, per_person=1)
    names.free()
    with pytest.raises(socket.gaierror):
        await ask(lookups, "ada", "nowhere.example")
    assert await ask(lookups, "ada", "models.example") == (ADDRESS,)


async def test_an_address_needs_no_thread(names: Names) -> None:
    lookups = PersonalLookups(names.look_up, threads=0)
    assert await lookups.resolve("192.0.2.1", 443) == ("192.0.2.1",)
    assert await lookups.resolve("2001:db8::1", 443) == ("2001:db8::1",)
    assert names.begun == []


def test_the_machine_s_resolver_is_asked() -> None:
    assert "127.0.0.1" in look_up("localhost", 443)
