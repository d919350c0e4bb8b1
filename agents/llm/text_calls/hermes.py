"""Hermes: `<tool_call>` around one or more JSON objects (or function tags)."""

from typing import Any

from agents.llm.text_calls.base import Cursor, NotACall, Parse, TextCall, call_with
from agents.llm.text_calls.function_tags import FUNCTION, function_tag

OPEN, CLOSE = "<tool_call>", "</tool_call>"


class Hermes:
    openers = (OPEN,)

    def parse(self, cursor: Cursor) -> Parse[list[TextCall]]:
        calls: list[TextCall] = []
        yield from cursor.literal(OPEN)
        while True:
            yield from cursor.space()
            ahead = yield from cursor.ahead("{", FUNCTION, CLOSE)
            if ahead == "{":
                calls.append(_call_in((yield from cursor.json_object())))
            elif ahead == FUNCTION:
                calls.append((yield from function_tag(cursor)))
            else:
                yield from cursor.literal(CLOSE)
                return calls


def _call_in(value: dict[str, Any]) -> TextCall:
    """`parameters` is how Llama spells `arguments`."""
    name = value.get("name")
    arguments = value.get("arguments", value.get("parameters"))
    if not isinstance(name, str) or not name:
        raise NotACall
    if isinstance(arguments, str):
        return TextCall(name, arguments)
    if not isinstance(arguments, dict | None):
        raise NotACall
    return call_with(name, arguments or {})
