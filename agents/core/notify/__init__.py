"""What is said of a run while it goes on, as data: subscribers listen to events and speak.

`subscriber` reads them, `bus` gathers a run's events and knows what is due, `words` makes sentences
and tables of them, `hints` bounds what a model is told at once, and `shipped` are those that come
with Oracle.
"""

from agents.core.notify.bus import NotificationBus
from agents.core.notify.subscriber import InjectionPoint, Subscriber, read_subscriber

__all__ = ["InjectionPoint", "NotificationBus", "Subscriber", "read_subscriber"]
