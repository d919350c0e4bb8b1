from email.utils import formatdate

import pytest

from agents.llm.errors import (
    BrokenStream,
    EndpointError,
    KeyRefused,
    NoTimeToRetry,
    OptionRefused,
    RateLimited,
)
from agents.llm.retry import MAX_RETRY_AFTER_SECONDS, RetryPolicy, parse_retry_after

NOW = 1_750_000_000.0


class Fixed:
    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


def wait(error: EndpointError, attempt: int = 1, left: float = 100.0, dice: float = 0.5) -> float:
    return RetryPolicy(Fixed(dice)).wait_after(error, attempt, left)


def test_waits_double_and_are_jittered() -> None:
    assert [wait(BrokenStream(), attempt) for attempt in (1, 2)] == [0.5, 1.0]
    assert wait(BrokenStream(), dice=0.0) == 0.25
    assert wait(BrokenStream(), dice=1.0) == 0.75


def test_the_third_failure_is_the_last() -> None:
    error = BrokenStream()
    with pytest.raises(BrokenStream) as raised:
        wait(error, attempt=3)
    assert raised.value is error


def test_what_cannot_get_better_is_not_tried_again() -> None:
    with pytest.raises(KeyRefused):
        wait(KeyRefused())


def test_retry_after_is_honoured() -> None:
    assert 7.0 <= wait(RateLimited(retry_after=7.0)) <= 7.5


def test_an_unknown_option_is_left_out_at_once() -> None:
    assert wait(OptionRefused("stream_options")) == 0.0


@pytest.mark.parametrize(
    ("error", "left"), [(RateLimited(retry_after=30), 20), (BrokenStream(), 0.4)]
)
def test_a_wait_beyond_the_deadline_is_given_up_at_once(error: EndpointError, left: float) -> None:
    with pytest.raises(NoTimeToRetry, match="longer than this run has left") as raised:
        wait(error, left=left)
    assert (raised.value.code, raised.value.retryable) == (error.code, False)
    assert str(raised.value).startswith(str(error))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("7", 7.0), ("1.5", 1.5), (" 3 ", 3.0), ("0", None), ("-5", None), ("", None)),
        *(("inf", None), ("nan", None), ("soon", None), ("Mon, 99 Foo 2025", None)),
        (formatdate(NOW + 12, usegmt=True), 12.0),
        (formatdate(NOW - 12, usegmt=True), None),
        *(
            ("31536000", 31_536_000.0),
            ("1e300", MAX_RETRY_AFTER_SECONDS),
            ("9" * 400, MAX_RETRY_AFTER_SECONDS),
            ("-1e300", None),
        ),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_RETRY_AFTER_SECONDS),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", MAX_RETRY_AFTER_SECONDS),
        ("9" * 5_000, MAX_RETRY_AFTER_SECONDS),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": value}, NOW) == seconds


def test_no_header_asks_for_nothing() -> None:
    assert parse_retry_after({}, NOW) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.7, "wait a second, longer"),
        (30.0, "wait 31 seconds, longer"),
        (3_000.0, "wait 51 minutes, longer"),
        (86_400.0, "wait 25 hours, longer"),
        (31_536_000.0, "until much later."),
        (MAX_RETRY_AFTER_SECONDS, "until much later."),
    ],
)
def test_how_long_it_would_take_is_said_so_that_a_person_has_use_of_it(
    seconds: float, words: str
) -> None:
    with pytest.raises(NoTimeToRetry) as raised:
        wait(RateLimited(retry_after=seconds), left=0.1)
    assert str(raised.value).endswith(words + " than this run has left." * words.endswith("longer"))
