"""Counts of failed sign-ins: what locks, what only delays, and what nobody can undo."""

import threading
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from chat.accounts.login_throttle import (
    MAX_DELAY_SECONDS,
    MAX_FAILURES,
    WINDOW_SECONDS,
    SignInAttempts,
    get_network,
)
from chat.models import SignInCount

pytestmark = pytest.mark.django_db

HERE = "192.0.2.1"


def failures(times: int, name: str = "ada", address: str = HERE) -> list[bool]:
    return [SignInAttempts(name, address).register() for _ in range(times)]


def pass_time(seconds: float) -> None:
    for row in SignInCount.objects.all():
        row.until -= timedelta(seconds=seconds)
        row.save()


def test_ten_are_free_and_the_next_is_locked() -> None:
    assert failures(MAX_FAILURES + 2) == [True] * MAX_FAILURES + [False] * 2


def test_a_lock_ends_with_its_window() -> None:
    failures(MAX_FAILURES + 5)
    pass_time(WINDOW_SECONDS)
    assert failures(1) == [True]


def test_a_window_does_not_grow_with_every_attempt() -> None:
    failures(MAX_FAILURES)
    pass_time(WINDOW_SECONDS // 2)
    failures(5)
    rest = timedelta(seconds=WINDOW_SECONDS // 2 + 1)
    assert max(row.until for row in SignInCount.objects.all()) < timezone.now() + rest


@pytest.mark.ci
def test_a_lock_survives_any_number_of_others() -> None:
    failures(MAX_FAILURES)
    for number in range(400):
        failures(1, name=f"nobody-{number}", address=f"2001:db8:0:{number:x}::1")
    assert failures(1) == [False]


def test_a_name_alone_and_an_address_alone_only_delay() -> None:
    for number in range(40):
        failures(1, address=f"198.51.100.{number}")
        failures(1, name=f"nobody-{number}")
    assert failures(1, address="192.0.2.200") == [True]
    assert failures(1, name="bob") == [True]
    assert SignInAttempts("ada", "192.0.2.201").get_delay() == MAX_DELAY_SECONDS
    assert SignInAttempts("eve", HERE).get_delay() == MAX_DELAY_SECONDS
    assert SignInAttempts("eve", "192.0.2.201").get_delay() == 0.0


def test_a_delay_grows_from_nothing() -> None:
    delays = []
    for number in range(30):
        delays.append(SignInAttempts("ada", "192.0.2.99").get_delay())
        failures(1, address=f"198.51.100.{number}")
    assert delays[: MAX_FAILURES + 1] == [0.0] * (MAX_FAILURES + 1)
    assert delays == sorted(delays)
    assert 0 < delays[MAX_FAILURES + 2] <= 1.0
    assert delays[-1] == MAX_DELAY_SECONDS


def test_a_success_counts_as_no_failure() -> None:
    for _ in range(50):
        attempts = SignInAttempts("ada", HERE)
        assert attempts.register()
        attempts.reset()
    assert SignInAttempts("ada", HERE).get_delay() == 0.0


def test_a_success_with_ones_own_name_does_not_end_the_delay_of_ones_address() -> None:
    failures(25, name="victim")
    mine = SignInAttempts("mallory", HERE)
    mine.register()
    mine.reset()
    assert SignInAttempts("mallory", HERE).get_delay() == MAX_DELAY_SECONDS
    assert failures(1, name="victim") == [False]


def test_rows_of_closed_windows_are_pruned() -> None:
    for number in range(20):
        failures(1, name=f"nobody-{number}")
    pass_time(WINDOW_SECONDS + 1)
    failures(1)
    assert SignInCount.objects.count() == 3


def test_a_clock_that_ran_ahead_locks_nobody_for_longer() -> None:
    failures(MAX_FAILURES + 1)
    pass_time(-24 * 3600)
    assert failures(1) == [True]


def test_neither_names_nor_addresses_are_stored() -> None:
    failures(1, name="ada.lovelace")
    stored = " ".join(SignInCount.objects.values_list("key", flat=True))
    assert "lovelace" not in stored
    assert HERE not in stored


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("nonsense", "nonsense"),
    ],
)
def test_an_address_of_ipv6_counts_as_its_network(address: str, network: str) -> None:
    assert get_network(address) == network


def test_many_at_once_are_all_counted(transactional_db: None) -> None:
    together = threading.Barrier(16)
    answers: list[bool] = []

    def fail() -> None:
        SignInCount.objects.count()  # the connection is open before they start
        together.wait(30)
        try:
            answers.extend(failures(1))
        finally:
            connections.close_all()

    people = [threading.Thread(target=fail) for _ in range(16)]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
    assert sorted(answers) == [False] * 6 + [True] * 10
