"""Hermes: `<tool_call>` around one or more JSON objects (or function tags)."""

from typing import Any, ClassVar

from agents.llm.decoding.text_calls.base import NotACall, Parse, TextCall, TextCursor, build_call
from agents.llm.decoding.text_calls.function_tags import FUNCTION, FUNCTION_END, read_function_tag
from agents.llm.decoding.text_calls.registry import text_call_family

OPEN, CLOSE = "<tool_call>", "</tool_call>"


@text_call_family("hermes")
class Hermes:
    openers = (OPEN,)
    closers: ClassVar = {OPEN: CLOSE}

    def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
        yield from cursor.expect(OPEN)
        while (yield from _read_ahead(cursor)) != CLOSE:
            if (yield from cursor.peek("{", FUNCTION)) == FUNCTION:
                function = read_function_tag(cursor)
                yield from cursor.settle_inner(function, (FUNCTION_END,), (FUNCTION, CLOSE))
                continue
            call = cursor.last = _parse_call((yield from cursor.read_json_object()))
            if (yield from _read_ahead(cursor)) == CLOSE:
                yield from cursor.expect(CLOSE)
                return [*cursor.calls, call]
            cursor.settle(call)
            cursor.last = None
        yield from cursor.expect(CLOSE)
        return cursor.calls


def _read_ahead(cursor: TextCursor) -> Parse[str]:
    yield from cursor.skip_space()
    return (yield from cursor.peek("{", FUNCTION, CLOSE))


def _parse_call(value: dict[str, Any]) -> TextCall:
    """Parse one call; `parameters` is how Llama spells `arguments`."""
    name = value.get("name")
    arguments = value.get("arguments", value.get("parameters"))
    if not isinstance(name, str) or not name:
        raise NotACall
    if isinstance(arguments, str):
        return TextCall(name, arguments)
    if not isinstance(arguments, dict | None):
        raise NotACall
    return build_call(name, arguments or {})
