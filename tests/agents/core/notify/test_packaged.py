"""Subscribers that packages bring."""

import pytest

from agents.core.notify import register_subscriber
from agents.core.notify.packaged import PACKAGED
from agents.core.registry import RegistrationError
from tests.agents.core.notify.factories import write


def test_the_example_package_brings_one() -> None:
    assert PACKAGED.get("unsupported-claims").subscriber.at == "after_tool"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (write(types='["tool.call.failur"]'), "a subscriber cannot be read: 5:10: there is no"),
        (write(id="tool-failures"), "comes with Oracle"),
        (write(id="tokens"), "comes with Oracle"),
        (write(id="late"), "registered too late"),
    ],
)
def test_what_cannot_speak_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(RegistrationError, match=problem):
        register_subscriber(text)
