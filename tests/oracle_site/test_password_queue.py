"""The line in front of passwords: who is next, who is turned away, and who costs a thread."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from agents.runtime import current as home_module
from chat.accounts import login_throttle
from chat.accounts.login_throttle import SignInAttempts
from oracle_site.password_queue import MAX_BODY_BYTES, FairQueue, PasswordQueue, QueueFull, Ticket
from tests.support.timing import PATIENCE

HERE, THERE = "198.51.100.1", "198.51.100.2"


# -- the line -------------------------------------------------------------------------------------


async def called(line: FairQueue, *tickets: Ticket) -> list[bool]:
    """Who has a place once everybody may be called."""
    for ticket in tickets:
        line.make_ready_after(ticket, 0.0)
    await asyncio.sleep(0.01)  # timers of no seconds have fired
    return [ticket.has_slot for ticket in tickets]


async def test_so_many_at_once_in_the_order_they_came() -> None:
    line = FairQueue(slots=2)
    tickets = [line.join(f"192.0.2.{number}") for number in range(4)]
    assert await called(line, *tickets) == [True, True, False, False]
    line.leave(tickets[1])
    assert tickets[2].has_slot
    assert not tickets[3].has_slot


async def test_somebody_else_comes_before_the_rest_of_a_flood() -> None:
    line = FairQueue(slots=1)
    flood = [line.join(HERE) for _ in range(50)]
    other = line.join(THERE)
    await called(line, *flood, other)
    line.leave(flood[0])
    assert other.has_slot


async def test_a_full_line_turns_away_those_of_the_flood() -> None:
    line = FairQueue(slots=1, max_waiting=10)
    flood = [line.join(HERE) for _ in range(10)]
    with pytest.raises(QueueFull):
        line.join(HERE)
    others = [line.join(f"192.0.2.{number}") for number in range(5)]
    assert [ticket.admitted.done() for ticket in flood] == [False] * 5 + [True] * 5
    assert not any(ticket.admitted.result() for ticket in flood[5:])
    assert not any(ticket.admitted.done() for ticket in others)


async def test_whoever_has_to_wait_first_is_not_called_before() -> None:
    line = FairQueue(slots=1)
    late, soon = line.join(HERE), line.join(THERE)
    line.make_ready_after(late, 60.0)
    assert await called(line, soon) == [True]
    line.leave(soon)
    assert not late.has_slot


async def test_whoever_has_gone_is_never_called() -> None:
    line = FairQueue(slots=1)
    gone, here = line.join(HERE), line.join(THERE)
    line.leave(gone)
    assert await called(line, gone, here) == [False, True]
    line.leave(here)
    line.leave(here)
    assert await called(line, line.join(THERE)) == [True]


# -- in front of the pages ------------------------------------------------------------------------


class Pages:
    """An application that answers when it is told to, and keeps account of what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.inside = self.most = 0
        self.came = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.bodies.append((await receive())["body"])
        self.came.set()
        await self.goes_on.wait()
        self.inside -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


class Home:
    """Database work of a home, with nothing else there."""

    async def run_db(self, work: Callable[[], Any]) -> Any:
        return work()


@pytest.fixture(autouse=True)
def _a_home_without_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module, "_runtimes", [Home()])
    monkeypatch.setattr(SignInAttempts, "get_delay", lambda self: 0.0)


class Visit:
    """One request, its answer, and a connection that can go away."""

    def __init__(
        self, app: PasswordQueue, address: str = HERE, body: bytes = b"", **scope: Any
    ) -> None:
        self.said: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self._body: bytes | None = body or urlencode({"username": "ada"}).encode()
        usual = {"type": "http", "method": "POST", "path": reverse("sign-in"), "query_string": b""}
        headers = [(b"content-type", b"application/x-www-form-urlencoded")]
        at = {**usual, "headers": headers, "client": [address, 1], **scope}
        self.task = asyncio.ensure_future(app(at, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.said.append(message)

    async def answer(self) -> int:
        async with asyncio.timeout(PATIENCE):
            await self.task
        return int(self.said[0]["status"])


async def soon(what: Awaitable[Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        await what


async def test_a_request_passes_with_its_body_as_it_was() -> None:
    pages = Pages()
    pages.goes_on.set()
    visit = Visit(PasswordQueue(pages), body=b"username=ada&password=x")
    assert await visit.answer() == 200
    assert pages.bodies == [b"username=ada&password=x"]


async def test_no_more_than_so_many_are_inside_and_all_are_answered() -> None:
    pages = Pages()
    app = PasswordQueue(pages, FairQueue(slots=2))
    visits = [Visit(app) for _ in range(20)]
    await soon(pages.came.wait())
    pages.goes_on.set()
    assert {await visit.answer() for visit in visits} == {200}
    assert pages.most == 2


async def test_whoever_has_their_turn_waits_for_no_other_line() -> None:
    pages, elsewhere = Pages(), Pages()
    pages.goes_on.set()
    app = PasswordQueue(elsewhere, hashing=pages)
    assert await Visit(app).answer() == 200
    assert elsewhere.bodies == []


@pytest.mark.parametrize("method", ["post", "Post"])
async def test_a_method_is_read_as_django_reads_it(method: str) -> None:
    pages = Pages()
    app = PasswordQueue(pages, FairQueue(slots=1))
    visits = [Visit(app, method=method) for _ in range(5)]
    await soon(pages.came.wait())
    pages.goes_on.set()
    assert {await visit.answer() for visit in visits} == {200}
    assert pages.most == 1


async def test_a_flood_is_turned_away_in_words_and_another_person_comes_in() -> None:
    pages = Pages()
    app = PasswordQueue(pages, FairQueue(slots=1, max_waiting=5))
    flood = [Visit(app) for _ in range(30)]
    await soon(pages.came.wait())
    other = Visit(app, THERE)
    await asyncio.sleep(0)
    pages.goes_on.set()
    assert await other.answer() == 200
    answers = [await visit.answer() for visit in flood]
    assert answers.count(503) == 30 - 1 - 4
    (refusal, body) = next(visit.said for visit in flood if visit.said[0]["status"] == 503)
    assert b"Too many people are signing in" in body["body"]
    assert (b"retry-after", b"5") in refusal["headers"]
    assert b"content-security-policy" in dict(refusal["headers"])


async def test_whoever_leaves_while_waiting_is_not_let_in() -> None:
    pages = Pages()
    app = PasswordQueue(pages, FairQueue(slots=1))
    first, second = Visit(app), Visit(app, THERE)
    await soon(pages.came.wait())
    second.gone.set()
    await soon(second.task)
    pages.goes_on.set()
    assert await first.answer() == 200
    assert len(pages.bodies) == 1


async def test_a_place_is_taken_until_the_work_has_ended_also_when_nobody_waits_for_it() -> None:
    pages = Pages()
    app = PasswordQueue(pages, FairQueue(slots=1))
    first = Visit(app)
    await soon(pages.came.wait())
    first.task.cancel()
    await asyncio.wait([first.task])
    second = Visit(app, THERE)
    await asyncio.sleep(0.02)  # time enough to come in, if it could
    assert (len(pages.bodies), pages.inside) == (1, 1)
    pages.goes_on.set()
    assert await second.answer() == 200
    assert pages.most == 1


@pytest.mark.parametrize("scope", [{"method": "GET"}, {"path": "/runs/"}])
async def test_other_requests_do_not_wait(scope: dict[str, Any]) -> None:
    pages = Pages()
    app = PasswordQueue(pages, FairQueue(slots=1))
    visits = [Visit(app, **scope) for _ in range(5)]
    await soon(pages.came.wait())
    await asyncio.sleep(0.02)  # time enough to come in
    assert pages.inside == 5
    pages.goes_on.set()
    assert {await visit.answer() for visit in visits} == {200}


async def test_a_huge_form_is_refused_before_anybody_reads_it() -> None:
    pages = Pages()
    assert await Visit(PasswordQueue(pages), body=b"x" * (MAX_BODY_BYTES + 1)).answer() == 413
    assert pages.bodies == []


@pytest.mark.parametrize("body", [b"\xff=\xfe", b"&".join([b"a=1"] * 1_100), b"%", b"username=%00"])
async def test_a_form_that_cannot_be_read_is_left_to_the_page(body: bytes) -> None:
    pages = Pages()
    pages.goes_on.set()
    assert await Visit(PasswordQueue(pages), body=body).answer() == 200
    assert pages.bodies == [body]


async def test_a_name_that_failed_often_waits_and_takes_no_place_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def delay(self: SignInAttempts) -> float:
        asked.append(self._single_keys[0])
        return 60.0 if self._single_keys[0] == login_throttle._digest("name", "ada") else 0.0

    monkeypatch.setattr(SignInAttempts, "get_delay", delay)
    pages = Pages()
    pages.goes_on.set()
    app = PasswordQueue(pages, FairQueue(slots=1))
    waiting = Visit(app)
    assert await Visit(app, body=b"username=bob").answer() == 200
    assert not waiting.task.done()
    assert len(asked) == 2
    waiting.gone.set()
    await soon(waiting.task)
