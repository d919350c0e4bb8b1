"""`<function=name>` around a JSON object, or around one `<parameter=key>` element per argument."""

from typing import ClassVar

from agents.llm.decoding.text_calls.base import (
    Parse,
    TextCall,
    TextCursor,
    build_call,
    parse_parameter,
)
from agents.llm.decoding.text_calls.registry import text_call_family

FUNCTION, FUNCTION_END = "<function=", "</function>"
PARAMETER, PARAMETER_END = "<parameter=", "</parameter>"


@text_call_family("function_tags")
class FunctionTags:
    openers = (FUNCTION,)
    closers: ClassVar = {FUNCTION: FUNCTION_END}

    def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
        return [(yield from read_function_tag(cursor))]


def read_function_tag(cursor: TextCursor) -> Parse[TextCall]:
    yield from cursor.expect(FUNCTION)
    name = yield from cursor.read_name()
    yield from cursor.expect(">")
    yield from cursor.skip_space()
    arguments: dict[str, object] = {}
    if (yield from cursor.peek("{", PARAMETER, FUNCTION_END)) == "{":
        arguments = yield from cursor.read_json_object()
        yield from cursor.skip_space()
        yield from cursor.expect(FUNCTION_END)
        return build_call(name, arguments)
    while (yield from cursor.read_one_of(PARAMETER, FUNCTION_END)) == PARAMETER:
        key = yield from cursor.read_name()
        yield from cursor.expect(">")
        arguments[key] = parse_parameter((yield from cursor.read_until(PARAMETER_END)))
        yield from cursor.skip_space()
    return build_call(name, arguments)
