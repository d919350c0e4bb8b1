"""Callouts: quotes that begin with `[!note] Title`, also folded and inside of each other."""

import re

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_FIRST_LINE = re.compile(
    r"\[!([A-Za-z][\w-]{0,39})(?:\|[^\]\n]{0,80})?\]([+-]?)[ \t]*([^\n]*)(?:\n|$)"
)
TONES = {
    **dict.fromkeys(("note", "abstract", "summary", "tldr", "info", "todo"), "info"),
    **dict.fromkeys(("tip", "hint", "important", "success", "check", "done"), "good"),
    **dict.fromkeys(("question", "help", "faq", "example"), "info"),
    **dict.fromkeys(("warning", "caution", "attention"), "bad"),
    **dict.fromkeys(("failure", "fail", "missing", "danger", "error", "bug"), "bad"),
    **dict.fromkeys(("quote", "cite"), "plain"),
}
"""How each kind looks; what is not here looks like a note, as in Obsidian."""


def callout_rule(state: StateCore) -> None:
    """Turn such quotes into boxes with a title."""
    tokens = state.tokens
    for place in range(len(tokens) - 3, -1, -1):  # from the end: tokens come and go after it
        kinds = [token.type for token in tokens[place : place + 3]]
        if kinds == ["blockquote_open", "paragraph_open", "inline"]:
            found = _FIRST_LINE.match(tokens[place + 2].content)
            if found:
                _turn_into_callout(tokens, place, found)


def _turn_into_callout(tokens: list[Token], place: int, found: re.Match[str]) -> None:
    opened, inline = tokens[place], tokens[place + 2]
    closed = next(
        token
        for token in tokens[place + 1 :]
        if token.type == "blockquote_close" and token.level == opened.level
    )
    kind, fold, title = found[1], found[2], found[3].strip()
    opened.type, closed.type = "callout_open", "callout_close"
    opened.tag = closed.tag = "details" if fold else "div"
    opened.attrs = {"class": f"callout {TONES.get(kind.lower(), 'info')}"}
    if fold == "+":
        opened.attrs["open"] = ""
    inline.content = inline.content[found.end() :]
    if not inline.content.strip():
        del tokens[place + 1 : place + 4]
    tokens[place + 1 : place + 1] = _build_title(title or kind.capitalize(), opened)


def _build_title(title: str, opened: Token) -> list[Token]:
    tag = "summary" if opened.tag == "details" else "p"
    attrs: dict[str, str | int | float] = {"class": "callout-title"}
    level = opened.level + 1
    return [
        Token("callout_title_open", tag, 1, attrs=attrs, level=level, block=True),
        Token("inline", "", 0, content=title, level=level + 1, children=[], block=True),
        Token("callout_title_close", tag, -1, level=level, block=True),
    ]
