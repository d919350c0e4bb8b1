"""Inline: the name of a known tool, directly followed by a JSON object."""

from agents.llm.decoding.text_calls.base import Parse, TextCall, TextCursor, build_call


class Inline:
    """Only tools of this request, or any word before a brace would be a call."""

    def __init__(self, known: frozenset[str]) -> None:
        self.openers = tuple(f"{name}{{" for name in sorted(known))

    def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
        opener = yield from cursor.read_one_of(*self.openers)
        cursor.pos -= 1
        arguments = yield from cursor.read_json_object()
        return [build_call(opener[:-1], arguments)]
