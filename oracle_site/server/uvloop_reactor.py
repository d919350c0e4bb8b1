"""Twisted's reactor on uvloop's event loop, which needs less CPU. Import this before daphne, which
uses the reactor that it finds."""

import uvloop
from twisted.internet import asyncioreactor

asyncioreactor.install(uvloop.new_event_loop())  # type: ignore[no-untyped-call]
