"""Server-sent events: bytes in, `data` payloads out. No I/O, and the same for every split."""

from codecs import utf_8_decode

from agents.llm.errors import BadResponse, BrokenStream, EndpointError

MAX_EVENT_LENGTH = 1 << 20
"""Characters in one line, or in the data of one event."""


class SSEDecoder:
    """Feed bytes, get the payloads of the events they complete.

    What came before a fault is returned; `fault` then says why nothing more will.
    """

    __slots__ = ("_bytes", "_data", "_return", "_size", "_started", "_tail", "fault")

    def __init__(self) -> None:
        self.fault: EndpointError | None = None
        self._bytes = b""  # the beginning of a character
        self._return = False  # the last character was "\r": perhaps the first half of a line end
        self._started = False
        self._tail: list[str] = []  # the beginning of a line, in pieces
        self._size = 0
        self._data: str | None = None  # lines of an event that has not ended

    def feed(self, data: bytes) -> list[str]:
        if self.fault:
            return []
        if self._bytes:
            data = self._bytes + data
        try:
            text, used = utf_8_decode(data, "strict", False)
        except UnicodeDecodeError as error:
            payloads = self._consume(data[: error.start].decode())
            self.fault = self.fault or BadResponse()
            return payloads
        self._bytes = data[used:]
        return self._consume(text)

    def flush(self) -> list[str]:
        """End the stream: the last event may lack its blank line."""
        if self.fault:
            return []
        if self._bytes:
            self.fault = BrokenStream()
            return []
        return self._consume("\n\n")

    def _consume(self, text: str) -> list[str]:
        if not self._started:
            text = self._strip_byte_order_mark(text)
        if self._return or "\r" in text:
            text = self._normalise_line_ends(text)
        if "\n" not in text:
            self._buffer_tail(text)
            return []
        if self._tail:
            text = "".join(self._tail) + text
        lines = text.split("\n")
        tail = lines.pop()
        self._tail, self._size = [], 0
        if len(text) > MAX_EVENT_LENGTH:
            lines = self._drop_from_long_line(lines)
        payloads = self._parse_lines(lines)
        self._buffer_tail(tail)
        return payloads

    def _parse_lines(self, lines: list[str]) -> list[str]:
        payloads: list[str] = []
        data = self._data
        for line in lines:
            if not line:
                if data is not None:
                    payloads.append(data)
                    data = None
            elif line.startswith("data:"):
                value = line[6:] if line.startswith(" ", 5) else line[5:]
                data = value if data is None else f"{data}\n{value}"
                if len(data) > MAX_EVENT_LENGTH:
                    self.fault = self.fault or BadResponse()
                    break
        self._data = data
        return payloads

    def _buffer_tail(self, tail: str) -> None:
        if tail:
            self._tail.append(tail)
            self._size += len(tail)
            if self._size > MAX_EVENT_LENGTH:
                self.fault = self.fault or BadResponse()

    def _drop_from_long_line(self, lines: list[str]) -> list[str]:
        for number, line in enumerate(lines):
            if len(line) > MAX_EVENT_LENGTH:
                self.fault = BadResponse()
                return lines[:number]
        return lines

    def _strip_byte_order_mark(self, text: str) -> str:
        """Drop a byte order mark."""
        self._started = bool(text)
        return text.removeprefix("\ufeff")

    def _normalise_line_ends(self, text: str) -> str:
        """Turn "\\r\\n" and "\\r" into "\\n"; a "\\r" at the end waits for what follows."""
        if self._return:
            text = "\r" + text
        self._return = text.endswith("\r")
        if self._return:
            text = text[:-1]
        return text.replace("\r\n", "\n").replace("\r", "\n")
