"""Inline: the name of a known tool, directly followed by a JSON object."""

from agents.llm.text_calls.base import Cursor, Parse, TextCall, call_with


class Inline:
    """Only tools of this request, or any word before a brace would be a call."""

    def __init__(self, known: frozenset[str]) -> None:
        self.openers = tuple(f"{name}{{" for name in sorted(known))

    def parse(self, cursor: Cursor) -> Parse[list[TextCall]]:
        opener = yield from cursor.one_of(*self.openers)
        cursor.pos -= 1
        arguments = yield from cursor.json_object()
        return [call_with(opener[:-1], arguments)]
