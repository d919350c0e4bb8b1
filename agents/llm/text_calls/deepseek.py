"""DeepSeek's marker tags, with full-width or ASCII bars.

Older models write `function`, the separator, the name and a fenced JSON block; newer ones write
the name, the separator and the JSON.
"""

from itertools import product

from agents.llm.text_calls.base import Cursor, Parse, TextCall, call_with

FENCE = "```"


class Spelling:
    """The tags of one choice of bar and space."""

    def __init__(self, bar: str, space: str) -> None:
        def tag(*words: str) -> str:
            return f"<{bar}{space.join(words)}{bar}>"

        self.calls, self.calls_end = tag("tool", "calls", "begin"), tag("tool", "calls", "end")
        self.call, self.call_end = tag("tool", "call", "begin"), tag("tool", "call", "end")
        self.separator = tag("tool", "sep")


SPELLINGS = tuple(Spelling(bar, space) for bar, space in product("\uff5c|", "\u2581_"))
BY_OPENER = {tag: spelling for spelling in SPELLINGS for tag in (spelling.calls, spelling.call)}


class DeepSeek:
    openers = tuple(BY_OPENER)

    def parse(self, cursor: Cursor) -> Parse[list[TextCall]]:
        opener = yield from cursor.ahead(*self.openers)
        tags = BY_OPENER[opener]
        if opener == tags.call:
            return [(yield from _call(cursor, tags))]
        calls: list[TextCall] = []
        yield from cursor.literal(tags.calls)
        yield from cursor.space()
        while (yield from cursor.ahead(tags.call, tags.calls_end)) == tags.call:
            calls.append((yield from _call(cursor, tags)))
            yield from cursor.space()
        yield from cursor.literal(tags.calls_end)
        return calls


def _call(cursor: Cursor, tags: Spelling) -> Parse[TextCall]:
    yield from cursor.literal(tags.call)
    yield from cursor.space()
    name = yield from cursor.name()
    yield from cursor.space()
    yield from cursor.literal(tags.separator)
    if name == "function":
        name = yield from cursor.name()
    arguments = yield from _arguments(cursor)
    yield from cursor.space()
    yield from cursor.literal(tags.call_end)
    return call_with(name, arguments)


def _arguments(cursor: Cursor) -> Parse[dict[str, object]]:
    yield from cursor.space()
    if (yield from cursor.ahead("{", FENCE)) == "{":
        return (yield from cursor.json_object())
    yield from cursor.literal(FENCE + "json")
    arguments = yield from cursor.json_object()
    yield from cursor.space()
    yield from cursor.literal(FENCE)
    return arguments
