"""What is said of a run while it goes on, as data: subscribers listen to events and speak.

`subscriber` reads them, `bus` gathers a run's events and knows what is due, `words` makes sentences
and tables of them, `hints` bounds what a model is told at once, and `preview` shows what one would
say. `shipped` are those that come with Oracle, `packaged` those of packages. `self_notes` are what
a model tells itself later in the run, `reminders` what it keeps for another.
"""

from agents.core.notify.bus import NotificationBus
from agents.core.notify.packaged import register_subscriber
from agents.core.notify.subscriber import InjectionPoint, Subscriber, read_subscriber

__all__ = [
    "InjectionPoint",
    "NotificationBus",
    "Subscriber",
    "read_subscriber",
    "register_subscriber",
]
