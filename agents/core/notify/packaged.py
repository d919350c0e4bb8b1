"""Subscribers that packages bring: registered at start-up, read like any other."""

from dataclasses import dataclass

from agents.core.control.toml import InvalidToml
from agents.core.notify.shipped import LOOP, SHIPPED
from agents.core.notify.subscriber import Subscriber, read_subscriber
from agents.core.registry import RegistrationError, Registry


@dataclass(frozen=True, slots=True)
class PackagedSubscriber:
    """A subscriber of a package, with its text."""

    subscriber: Subscriber
    text: str


PACKAGED: Registry[PackagedSubscriber] = Registry("subscriber")


def register_subscriber(text: str) -> Subscriber:
    """Let a subscriber speak in all runs of the site, unless somebody switches it off."""
    try:
        subscriber = read_subscriber(text)
    except InvalidToml as error:
        raise RegistrationError(f"a subscriber cannot be read: {error}") from None
    if subscriber.id in LOOP or any(subscriber.id == one.id for one in SHIPPED):
        raise RegistrationError(
            f"subscriber {subscriber.id!r} comes with Oracle. Give yours another id."
        )
    PACKAGED.register(subscriber.id, PackagedSubscriber(subscriber, text))
    return subscriber
