"""The bytes of one response become the events of one answer. No I/O."""

from agents.core.messages import ModelEvent
from agents.llm.decoding.events import DONE, EventAssembler
from agents.llm.decoding.sse import SSEDecoder
from agents.llm.errors import BadResponse, BrokenStream, EndpointError


class ResponseDecoder:
    """`feed` each read, then `flush`. Neither raises: look at `fault` after each."""

    __slots__ = ("_assembler", "_sse")

    def __init__(self, known: frozenset[str] = frozenset()) -> None:
        self._sse = SSEDecoder()
        self._assembler = EventAssembler(known)

    @property
    def started(self) -> bool:
        """Whether there was any content: from then on nothing is tried again."""
        return self._assembler.started

    @property
    def done(self) -> bool:
        """Whether the endpoint said that this was all."""
        return self._assembler.done

    @property
    def complete(self) -> bool:
        """Whether nothing is missing, whatever becomes of the connection."""
        return self._assembler.complete

    @property
    def fault(self) -> EndpointError | None:
        """Why the answer cannot be read. What follows a complete answer does not matter."""
        return None if self.complete else self._assembler.fault or self._sse.fault

    def feed(self, data: bytes) -> list[ModelEvent]:
        payloads = self._sse.feed(data)
        return self._assembler.feed(payloads) if payloads else []

    def feed_body(self, body: bytes) -> list[ModelEvent]:
        """Take the whole body of an answer that was not streamed, or not said to be."""
        if body.lstrip().startswith((b"data:", b":")):
            return self.feed(body)
        try:
            return self._assembler.feed([body.decode("utf-8-sig"), DONE])
        except UnicodeDecodeError:
            self._assembler.fault = BadResponse()
            return []

    def flush(self) -> list[ModelEvent]:
        """End the response: return the last events, Finished among them if all is well."""
        events: list[ModelEvent] = []
        fault = self.fault
        if not fault:
            events = self._assembler.feed(self._sse.flush())
            fault = self.fault
            if isinstance(fault, BadResponse):
                fault = BrokenStream()  # unreadable at the very end: cut off
        self._assembler.fault = fault
        return events + self._assembler.flush()

    def flush_raw(self) -> list[ModelEvent]:
        """Return what is still held back, as it was written."""
        return self._assembler.flush_raw()
