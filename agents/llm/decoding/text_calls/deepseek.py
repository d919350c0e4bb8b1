"""DeepSeek's marker tags, with full-width or ASCII bars.

Older models write `function`, the separator, the name and a fenced JSON block; newer ones write
the name, the separator and the JSON.
"""

from itertools import product
from typing import ClassVar

from agents.llm.decoding.text_calls.base import (
    NotACall,
    Parse,
    TextCall,
    TextCursor,
    build_call,
)
from agents.llm.decoding.text_calls.registry import text_call_family

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
SPELLING_BY_OPENER = {
    tag: spelling for spelling in SPELLINGS for tag in (spelling.calls, spelling.call)
}


@text_call_family("deepseek")
class DeepSeek:
    openers = tuple(SPELLING_BY_OPENER)
    closers: ClassVar = {
        opener: tags.call_end if opener == tags.call else tags.calls_end
        for opener, tags in SPELLING_BY_OPENER.items()
    }

    def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
        opener = yield from cursor.peek(*self.openers)
        tags = SPELLING_BY_OPENER[opener]
        if opener == tags.call:
            return [(yield from _read_call(cursor, tags))]
        yield from cursor.expect(tags.calls)
        yield from cursor.skip_space()
        while (yield from cursor.peek(tags.call, tags.calls_end)) == tags.call:
            call = _read_call(cursor, tags)
            yield from cursor.settle_inner(call, (tags.call_end,), (tags.call, tags.calls_end))
            yield from cursor.skip_space()
        yield from cursor.expect(tags.calls_end)
        return cursor.calls


def _read_call(cursor: TextCursor, tags: Spelling) -> Parse[TextCall]:
    yield from cursor.expect(tags.call)
    yield from cursor.skip_space()
    name = yield from cursor.read_name()
    yield from cursor.skip_space()
    yield from cursor.expect(tags.separator)
    if name == "function":
        name = yield from cursor.read_name()
    arguments = yield from _read_arguments(cursor)
    yield from cursor.skip_space()
    yield from cursor.expect(tags.call_end)
    return build_call(name, arguments)


def _read_arguments(cursor: TextCursor) -> Parse[dict[str, object]]:
    yield from cursor.skip_space()
    if (yield from cursor.peek("{", FENCE)) == "{":
        return (yield from cursor.read_json_object())
    yield from cursor.expect(FENCE + "json")
    try:
        arguments = yield from cursor.read_json_object()
        yield from cursor.skip_space()
        yield from cursor.expect(FENCE)
    except NotACall:
        yield from cursor.read_until(FENCE)  # this fence is of the call, and opens no code
        raise
    return arguments
