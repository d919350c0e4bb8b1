"""Check a few passwords at a time; requests that wait for their turn take no thread.

Hashing a password costs a third of a second of a core, on purpose. So there is a line in front of
the pages that hash one: those who came from an address that nobody else in the line came from are
next, and when the line is full it is the address with the most people in it that is turned away. A
flood of sign-ins costs the one who sends it, and nobody else.
"""

import asyncio
import io
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.db import Error as DatabaseError
from django.http import HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.urls import reverse

from agents.runtime import get_runtime
from chat.accounts.login_throttle import SignInAttempts, get_network
from oracle_site.error_views import unavailable_response
from oracle_site.middleware import add_security_headers

MAX_CONCURRENT_HASHES = max(1, (os.cpu_count() or 1) // 2)
"""At once, in a process: the event loop needs a core too."""
MAX_WAITING = 100
MAX_BODY_BYTES = 64 * 1024
QUEUE_FULL_MESSAGE = "Too many people are signing in at this moment."

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class QueueFull(Exception):
    """The line is full, and others have waited with better reason."""


@dataclass(eq=False)
class Ticket:
    """Somebody in the line. `admitted` says whether it is their turn, or they are turned away."""

    address: str
    rank: tuple[int, int]
    """How many of the same address were there before, and when they came."""
    admitted: asyncio.Future[bool] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    is_ready: bool = False
    """Whether they may be called: some have to wait for a while first."""
    has_slot: bool = False


class FairQueue:
    """So many places; the lowest rank is next."""

    def __init__(self, slots: int = MAX_CONCURRENT_HASHES, max_waiting: int = MAX_WAITING) -> None:
        self._slots, self._max_waiting = slots, max_waiting
        self._tickets: set[Ticket] = set()
        self._count_by_address = Counter[str]()
        self._sequence = count()

    def join(self, address: str) -> Ticket:
        """Come into the line, at the cost of the worst in it when it is full."""
        ticket = Ticket(address, (self._count_by_address[address], next(self._sequence)))
        waiting = [one for one in self._tickets if not one.has_slot]
        if len(waiting) >= self._max_waiting:
            worst = max([*waiting, ticket], key=lambda one: one.rank)
            if worst is ticket:
                raise QueueFull
            self.leave(worst)
            worst.admitted.set_result(False)
        self._tickets.add(ticket)
        self._count_by_address[address] += 1
        return ticket

    def make_ready_after(self, ticket: Ticket, seconds: float) -> None:
        """Let somebody be called, after so many seconds."""
        asyncio.get_running_loop().call_later(seconds, self._make_ready, ticket)

    def leave(self, ticket: Ticket) -> None:
        """Go, whether or not one's turn had come."""
        if ticket not in self._tickets:
            return
        self._tickets.discard(ticket)
        self._count_by_address[ticket.address] -= 1
        if not self._count_by_address[ticket.address]:
            del self._count_by_address[ticket.address]
        self._admit_next()

    def _make_ready(self, ticket: Ticket) -> None:
        ticket.is_ready = True
        self._admit_next()

    def _admit_next(self) -> None:
        taken = sum(one.has_slot for one in self._tickets)
        ready = [one for one in self._tickets if one.is_ready and not one.has_slot]
        for ticket in sorted(ready, key=lambda one: one.rank)[: self._slots - taken]:
            ticket.has_slot = True
            ticket.admitted.set_result(True)


class PasswordQueue:
    """In front of the pages, for what hashes a password.

    That goes to `hashing`: whoever has their turn here must not wait for another line.
    """

    def __init__(self, app: Any, queue: FairQueue | None = None, hashing: Any = None) -> None:
        self._app, self._hashing = app, hashing or app
        self._queue = queue or FairQueue()
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # Django reads the method so too.
        if scope["method"].upper() != "POST" or not _hashes_password(scope["path"]):
            await self._app(scope, receive, send)
            return
        body = await _read_body(receive)
        if body is None:
            return
        if len(body) > MAX_BODY_BYTES:
            await _send_response(HttpResponse(status=413), send)
            return
        try:
            await self._admit(scope, receive, send, body)
        except QueueFull:
            is_page = b"hx-request" not in dict(scope["headers"])
            await _send_response(unavailable_response(QUEUE_FULL_MESSAGE, is_page=is_page), send)

    async def _admit(self, scope: Message, receive: Receive, send: Send, body: bytes) -> None:
        address = str((scope.get("client") or [""])[0])
        ticket = self._queue.join(get_network(address))
        inside: asyncio.Task[None] | None = None
        try:
            self._queue.make_ready_after(ticket, await _get_delay(scope, body, address))
            if await _wait_for_turn(ticket, receive):
                inside = asyncio.ensure_future(self._hashing(scope, _replay_body(body), send))
        finally:
            if inside is None:
                self._queue.leave(ticket)
        if inside is None:
            return
        # A thread that hashes cannot be stopped: its place is free when it has ended, not when
        # whoever wanted it has gone.
        self._running.add(inside)
        inside.add_done_callback(self._running.discard)
        inside.add_done_callback(lambda _: self._queue.leave(ticket))
        await asyncio.shield(inside)


def _hashes_password(path: str) -> bool:
    invitation = reverse("invitation", args=["-"]).removesuffix("-/")
    return path in (reverse("sign-in"), reverse("password")) or path.startswith(invitation)


async def _wait_for_turn(ticket: Ticket, receive: Receive) -> bool:
    """Wait for somebody's turn, or until they have gone. QueueFull if they are turned away."""
    gone = asyncio.ensure_future(receive())
    either: list[asyncio.Future[Any]] = [gone, ticket.admitted]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
    if ticket.admitted.done() and not ticket.admitted.result():
        raise QueueFull
    return ticket.admitted.done()


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request; nothing if whoever sent it has gone."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _replay_body(body: bytes) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        if (message := next(messages, None)) is not None:
            return message
        await asyncio.get_running_loop().create_future()  # until the answer is complete
        raise AssertionError("unreachable")

    return receive


async def _get_delay(scope: Message, body: bytes, address: str) -> float:
    """Return how long they have to wait first. A database in trouble is the page's to tell of."""
    try:
        name = ASGIRequest(scope, io.BytesIO(body)).POST.get("username", "")
    except (SuspiciousOperation, MultiPartParserError, ValueError):
        name = ""  # the page will refuse it
    try:
        return await get_runtime().run_db(SignInAttempts(name, address).get_delay)
    except DatabaseError:
        return 0.0


async def _send_response(response: HttpResponse, send: Send) -> None:
    add_security_headers(response)
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
