"""Hermes: `<tool_call>` around one or more JSON objects (or function tags)."""

from typing import Any

from agents.llm.decoding.text_calls.base import NotACall, Parse, TextCall, TextCursor, build_call
from agents.llm.decoding.text_calls.function_tags import FUNCTION, read_function_tag
from agents.llm.decoding.text_calls.registry import text_call_family

OPEN, CLOSE = "<tool_call>", "</tool_call>"


@text_call_family("hermes")
class Hermes:
    openers = (OPEN,)

    def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
        calls: list[TextCall] = []
        yield from cursor.expect(OPEN)
        while True:
            yield from cursor.skip_space()
            ahead = yield from cursor.peek("{", FUNCTION, CLOSE)
            if ahead == "{":
                calls.append(_parse_call((yield from cursor.read_json_object())))
            elif ahead == FUNCTION:
                calls.append((yield from read_function_tag(cursor)))
            else:
                yield from cursor.expect(CLOSE)
                return calls


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
