"""What is kept of renderings: so much and no more, made once, and gone when it has to be."""

from collections.abc import Callable
from threading import Barrier, Event, Thread

import pytest

from chat.rendering import cache
from chat.rendering.cache import RenderCache


def made(values: list[str], value: str) -> Callable[[], str]:
    def make() -> str:
        values.append(value)
        return value

    return make


def test_what_is_kept_is_made_once() -> None:
    store, values = RenderCache[int, str](100, len), list[str]()
    assert [store.get_or_create(1, made(values, "one")) for _ in range(3)] == ["one"] * 3
    assert values == ["one"]


def test_the_least_recently_used_goes_first_when_it_is_too_much() -> None:
    store, values = RenderCache[int, str](10, len), list[str]()
    for key in (1, 2, 1, 3):
        store.get_or_create(key, made(values, f"{key}234"))
    assert values == ["1234", "2234", "3234"]
    store.get_or_create(1, made(values, "1234"))
    assert len(values) == 3
    store.get_or_create(2, made(values, "2234"))
    assert len(values) == 4


def test_what_is_larger_than_everything_is_given_and_not_kept() -> None:
    store, values = RenderCache[int, str](3, len), list[str]()
    for _ in range(2):
        assert store.get_or_create(1, made(values, "large")) == "large"
    assert len(values) == 2
    assert store._total == 0


def test_who_asks_while_it_is_made_waits_for_it() -> None:
    store, values, ready = RenderCache[int, str](100, len), list[str](), Barrier(8)

    def ask() -> None:
        ready.wait()
        store.get_or_create(1, made(values, "one"))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == ["one"]
    assert store._key_locks == {}


def test_what_is_dropped_while_it_is_made_is_not_kept() -> None:
    store, begun, dropped = RenderCache[int, str](100, len), Event(), Event()

    def make() -> str:
        begun.set()
        dropped.wait(10)
        return "secret"

    thread = Thread(target=lambda: store.get_or_create(1, make))
    thread.start()
    begun.wait(10)
    store.drop(lambda key: key == 1)
    dropped.set()
    thread.join()
    assert store._values == {}


def test_what_fails_is_made_again() -> None:
    store, values = RenderCache[int, str](100, len), list[str]()

    def broken() -> str:
        raise LookupError

    with pytest.raises(LookupError):
        store.get_or_create(1, broken)
    assert store.get_or_create(1, made(values, "one")) == "one"


def test_what_is_old_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_AGE_SECONDS", -1.0)
    store, values = RenderCache[int, str](100, len), list[str]()
    store.get_or_create(1, made(values, "one"))
    store.get_or_create(2, made(values, "two"))
    assert list(store._values) == [2]
