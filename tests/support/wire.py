"""A Reply as bytes: the one encoder behind the endpoint and the transport."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from .payloads import choice, completion, deltas, dump, envelope, error_body, payloads
from .script import Body, Fault, Reply

RAW_DETAIL = "upstream-detail-7f3a"
"""Part of every scripted error body. It must never reach a user."""

DONE = b"data: [DONE]\n\n"
_LONG_PIECE = 64 * 1024
_BAD = "@bad-bytes@"

STATUSES = {
    200: "OK",
    302: "Found",
    400: "Bad Request",
    401: "Unauthorized",
    402: "Payment Required",
    403: "Forbidden",
    404: "Not Found",
    408: "Request Timeout",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


class Ending(Enum):
    COMPLETE = "complete"
    CLOSE = "closed without an end"
    RESET = "reset"
    STALL = "nothing more, ever"
    REFUSE = "connection refused"
    STALL_CONNECT = "connection never made"


@dataclass(frozen=True, slots=True)
class Piece:
    wait: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: tuple[tuple[str, str], ...]
    length: int | None = None
    """Content-Length; None is chunked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes over the connection: wait, head, pieces, last wait, ending."""

    head: Head | None
    pieces: tuple[Piece, ...] = ()
    ending: Ending = Ending.COMPLETE
    wait: float = 0.0
    last_wait: float = 0.0


_NO_HEAD = {
    "refuse_connection": Ending.REFUSE,
    "hang_connect": Ending.STALL_CONNECT,
    "close_before_headers": Ending.CLOSE,
    "hang_before_headers": Ending.STALL,
}
_SSE = Head(200, (("content-type", "text/event-stream; charset=utf-8"),))


def render(reply: Reply, body: Body, number: int = 1) -> Answer:
    """The answer to request `body`, the `number`th one."""
    fault = reply.fault
    if fault is not None:
        if fault.name in _NO_HEAD:
            return Answer(None, ending=_NO_HEAD[fault.name], wait=reply.delay)
        if whole := _whole(fault):
            return replace(whole, wait=reply.delay)
    if body.get("stream"):
        return _streamed(reply, body, number)
    return _plain(reply, body, number)


def json_answer(status: int, value: Any, *headers: tuple[str, str]) -> Answer:
    return _body(status, "application/json", dump(value), *headers)


def error_answer(status: int, message: str, *headers: tuple[str, str]) -> Answer:
    return json_answer(status, error_body(message, status), *headers)


def _body(status: int, kind: str, data: bytes, *headers: tuple[str, str]) -> Answer:
    return Answer(
        Head(status, (("content-type", kind), *headers), len(data)),
        (Piece(0.0, data),) if data else (),
    )


def _whole(fault: Fault) -> Answer | None:
    """The answer of a fault that leaves nothing of the reply."""
    match fault.name:
        case "html_page":
            return _body(200, "text/html", f"<html><p>{RAW_DETAIL}</p></html>".encode())
        case "redirect":
            return _body(302, "text/html", b"", ("location", "/login"))
        case "empty_body":
            return Answer(_SSE)
        case "status_429_retry_after":
            return error_answer(429, RAW_DETAIL, ("retry-after", f"{fault.seconds:g}"))
        case name if name.startswith("status_"):
            return error_answer(int(name.removeprefix("status_")), RAW_DETAIL)
    return None


# -- streamed -------------------------------------------------------------------------------------


def _streamed(reply: Reply, body: Body, number: int) -> Answer:
    frames = [f"data: {payload}\n\n".encode() for payload in payloads(reply, body, number)]
    count = sum(1 for _ in deltas(reply, number))
    waits = [reply.delay, *[reply.piece_delay] * (count - 1)]
    waits += [0.0] * (len(frames) - len(waits))
    pieces = [Piece(wait, frame) for wait, frame in zip(waits, frames, strict=True)]
    answer = Answer(_SSE, tuple(pieces))
    if reply.fault is not None:
        answer = _strike(reply.fault, pieces, envelope(body, number, "chat.completion.chunk"))
    if reply.bytes_per_piece:
        answer = replace(answer, pieces=tuple(_recut(answer.pieces, reply.bytes_per_piece)))
    return answer


def _strike(fault: Fault, pieces: Sequence[Piece], base: Body) -> Answer:
    at = fault.position(len(pieces))
    sent, rest = tuple(pieces[:at]), tuple(pieces[at:])
    wait = rest[0].wait if rest else 0.0
    match fault.name:
        case "hang":
            return Answer(_SSE, sent, Ending.STALL)
        case "half_close":
            return Answer(_SSE, sent, Ending.CLOSE, last_wait=wait)
        case "reset":
            return Answer(_SSE, sent, Ending.RESET, last_wait=wait)
        case "missing_done":
            return Answer(_SSE, tuple(piece for piece in sent if piece.data != DONE))
        case "drip":
            return Answer(_SSE, sent + tuple(_drip(rest, fault.rate)))
        case "empty_stream":
            return Answer(_SSE, (Piece(wait, DONE),))
        case "truncated_json":
            return Answer(_SSE, (*sent, Piece(wait, _half(_frame(base, "cut off")))))
        case "error_object_in_stream":
            error = b"data: " + dump(error_body(RAW_DETAIL, 500)) + b"\n\n"
            return Answer(_SSE, (*sent, Piece(wait, error), Piece(0.0, DONE)))
    return Answer(_SSE, (*sent, *_recut([Piece(wait, _odd(fault, base))], _LONG_PIECE), *rest))


def _odd(fault: Fault, base: Body) -> bytes:
    """A frame that should not be there; the stream goes on after it."""
    if fault.name == "garbage_json":
        return b'data: {"choices": [oops\n\n'
    if fault.name == "invalid_utf8":
        return _with_bad_bytes(_frame(base, _BAD))
    return _frame(base, "x" * fault.size)


def _frame(base: Body, content: str) -> bytes:
    return b"data: " + dump({**base, "choices": [choice({"content": content}, None)]}) + b"\n\n"


def _drip(pieces: Iterable[Piece], rate: float) -> Iterator[Piece]:
    return (Piece(piece.wait + 1 / rate, piece.data) for piece in _recut(pieces, 1))


def _recut(pieces: Iterable[Piece], size: int) -> Iterator[Piece]:
    for piece in pieces:
        for start in range(0, len(piece.data), size):
            yield Piece(0.0 if start else piece.wait, piece.data[start : start + size])


def _with_bad_bytes(data: bytes) -> bytes:
    return data.replace(_BAD.encode(), b"\xff\xfe\xc3")


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


# -- not streamed ---------------------------------------------------------------------------------


def _plain(reply: Reply, body: Body, number: int) -> Answer:
    whole = completion(reply, body, number)
    further = max(0, sum(1 for _ in deltas(reply, number)) - 1)
    answer = _strike_plain(reply.fault, whole) if reply.fault else json_answer(200, whole)
    return replace(answer, wait=reply.delay + further * reply.piece_delay)


def _strike_plain(fault: Fault, value: dict[str, Any]) -> Answer:
    whole = json_answer(200, value)
    half = (Piece(0.0, _half(dump(value))),)
    message = value["choices"][0]["message"]
    match fault.name:
        case "hang":
            return replace(whole, pieces=half, ending=Ending.STALL)
        case "half_close":
            return replace(whole, pieces=half, ending=Ending.CLOSE)
        case "reset":
            return replace(whole, pieces=half, ending=Ending.RESET)
        case "drip":
            return replace(whole, pieces=tuple(_drip(whole.pieces, fault.rate)))
        case "truncated_json":
            return _body(200, "application/json", half[0].data)
        case "garbage_json":
            return _body(200, "application/json", b'{"choices": [oops')
        case "invalid_utf8":
            message["content"] = _BAD
            return _body(200, "application/json", _with_bad_bytes(dump(value)))
        case "overlong_line":
            message["content"] = "x" * fault.size
            return json_answer(200, value)
        case "empty_stream":
            return json_answer(200, {**value, "choices": []})
        case "error_object_in_stream":
            return json_answer(200, error_body(RAW_DETAIL, 500))
    return whole
