"""`<function=name>` around a JSON object, or around one `<parameter=key>` element per argument."""

from agents.llm.text_calls.base import Cursor, Parse, TextCall, call_with, parsed_value

FUNCTION, END = "<function=", "</function>"
PARAMETER, PARAMETER_END = "<parameter=", "</parameter>"


class FunctionTags:
    openers = (FUNCTION,)

    def parse(self, cursor: Cursor) -> Parse[list[TextCall]]:
        return [(yield from function_tag(cursor))]


def function_tag(cursor: Cursor) -> Parse[TextCall]:
    yield from cursor.literal(FUNCTION)
    name = yield from cursor.name()
    yield from cursor.literal(">")
    yield from cursor.space()
    arguments: dict[str, object] = {}
    if (yield from cursor.ahead("{", PARAMETER, END)) == "{":
        arguments = yield from cursor.json_object()
        yield from cursor.space()
        yield from cursor.literal(END)
        return call_with(name, arguments)
    while (yield from cursor.one_of(PARAMETER, END)) == PARAMETER:
        key = yield from cursor.name()
        yield from cursor.literal(">")
        arguments[key] = parsed_value((yield from cursor.until(PARAMETER_END)))
        yield from cursor.space()
    return call_with(name, arguments)
