"""Inline: the name of a known tool, directly followed by a JSON object."""

from agents.llm.decoding.text_calls.base import Parse, TextCall, TextCursor, build_call


class Inline:
    """Only tools of this request, or any word before a brace would be a call."""

    def __init__(self, known: frozenset[str]) -> None:
        self.openers = tuple(f"{name}{{" for name in sorted(known))

    def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
        opener = yield from cursor.read_one_of(*self.openers)
        yield from cursor.skip_space()
        yield from cursor.peek('"', "}")  # a known name before a block of code is no call
        cursor.pos = len(opener) - 1
        yield from cursor.settle_inner(_read_arguments(cursor, opener[:-1]), (), ("\n\n",))
        return cursor.calls


def _read_arguments(cursor: TextCursor, name: str) -> Parse[TextCall]:
    return build_call(name, (yield from cursor.read_json_object()))
