"""Anthropic-style: `invoke` elements, bare or inside `function_calls`, with or without prefix."""

from agents.llm.text_calls.base import Cursor, NotACall, Parse, TextCall, call_with, parsed_value

PREFIX_OF = {
    f"<{prefix}{tag}": prefix for prefix in ("", "antml:") for tag in ("invoke", "function_calls")
}


class Invoke:
    """Both spellings; the prefix of the opener holds for the whole call."""

    openers = tuple(PREFIX_OF)

    def parse(self, cursor: Cursor) -> Parse[list[TextCall]]:
        opener = yield from cursor.ahead(*self.openers)
        if opener.endswith("invoke"):
            return [(yield from _invoke(cursor, PREFIX_OF[opener]))]
        return (yield from _function_calls(cursor, PREFIX_OF[opener]))


def _function_calls(cursor: Cursor, prefix: str) -> Parse[list[TextCall]]:
    invoke, end = f"<{prefix}invoke", f"</{prefix}function_calls>"
    calls: list[TextCall] = []
    yield from cursor.literal(f"<{prefix}function_calls>")
    yield from cursor.space()
    while (yield from cursor.ahead(invoke, end)) == invoke:
        calls.append((yield from _invoke(cursor, prefix)))
        yield from cursor.space()
    yield from cursor.literal(end)
    return calls


def _invoke(cursor: Cursor, prefix: str) -> Parse[TextCall]:
    parameter, end = f"<{prefix}parameter", f"</{prefix}invoke>"
    arguments: dict[str, object] = {}
    name = yield from _named(cursor, f"<{prefix}invoke")
    yield from cursor.space()
    while (yield from cursor.ahead(parameter, end)) == parameter:
        key = yield from _named(cursor, parameter)
        arguments[key] = parsed_value((yield from cursor.until(f"</{prefix}parameter>")))
        yield from cursor.space()
    yield from cursor.literal(end)
    return call_with(name, arguments)


def _named(cursor: Cursor, tag: str) -> Parse[str]:
    """Read a start tag; return its `name` attribute, which comes first."""
    yield from cursor.literal(tag)
    yield from cursor.one_of(" ", "\n", "\t")
    yield from cursor.space()
    yield from cursor.literal("name=")
    quote = yield from cursor.one_of('"', "'")
    name = yield from cursor.until(quote)
    yield from cursor.until(">")
    if not name.strip() or "\n" in name:
        raise NotACall
    return name
