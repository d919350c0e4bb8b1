"""Anthropic-style: `invoke` elements, bare or inside `function_calls`, with or without prefix."""

from typing import ClassVar

from agents.llm.decoding.text_calls.base import (
    NotACall,
    Parse,
    TextCall,
    TextCursor,
    build_call,
    parse_parameter,
)
from agents.llm.decoding.text_calls.registry import text_call_family

PREFIXES = ("", "antml:")
PREFIX_BY_OPENER = {
    f"<{prefix}{tag}": prefix for prefix in PREFIXES for tag in ("invoke", "function_calls>")
}


@text_call_family("invoke")
class Invoke:
    """Both spellings; the prefix of the opener holds for the whole call."""

    openers = tuple(PREFIX_BY_OPENER)
    closers: ClassVar = {opener: f"</{opener.strip('<>')}>" for opener in openers}

    def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
        opener = yield from cursor.peek(*self.openers)
        if opener.endswith("invoke"):
            return [(yield from _read_invoke(cursor, PREFIX_BY_OPENER[opener]))]
        return (yield from _read_function_calls(cursor, PREFIX_BY_OPENER[opener]))


def _read_function_calls(cursor: TextCursor, prefix: str) -> Parse[list[TextCall]]:
    invoke, end = f"<{prefix}invoke", f"</{prefix}function_calls>"
    yield from cursor.expect(f"<{prefix}function_calls>")
    yield from cursor.skip_space()
    while (yield from cursor.peek(invoke, end)) == invoke:
        call = _read_invoke(cursor, prefix)
        yield from cursor.settle_inner(call, (f"</{prefix}invoke>",), (invoke, end))
        yield from cursor.skip_space()
    yield from cursor.expect(end)
    return cursor.calls


def _read_invoke(cursor: TextCursor, prefix: str) -> Parse[TextCall]:
    parameter, end = f"<{prefix}parameter", f"</{prefix}invoke>"
    arguments: dict[str, object] = {}
    name = yield from _read_named_tag(cursor, f"<{prefix}invoke")
    yield from cursor.skip_space()
    while (yield from cursor.peek(parameter, end)) == parameter:
        key = yield from _read_named_tag(cursor, parameter)
        arguments[key] = parse_parameter((yield from cursor.read_until(f"</{prefix}parameter>")))
        yield from cursor.skip_space()
    yield from cursor.expect(end)
    return build_call(name, arguments)


def _read_named_tag(cursor: TextCursor, tag: str) -> Parse[str]:
    """Read a start tag; return its `name` attribute, which comes first."""
    yield from cursor.expect(tag)
    yield from cursor.read_one_of(" ", "\n", "\t")
    yield from cursor.skip_space()
    yield from cursor.expect("name=")
    quote = yield from cursor.read_one_of('"', "'")
    name = yield from cursor.read_until(quote)
    yield from cursor.read_until(">")
    if not name.strip() or "\n" in name:
        raise NotACall
    return name
