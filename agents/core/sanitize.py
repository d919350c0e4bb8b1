"""Text that can be stored, and sent to a model without being mistaken for ours."""

import re
import unicodedata
from typing import Any

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_BLANK = frozenset("\ufffd\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Fillers and joiners that count as letters, marks or symbols, and what stands for no character."""
_SELECTORS = (range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0000, 0xE1000))
"""They choose the form of the character before them, and are nothing without one."""
_DATA_SIGNS = str.maketrans({"`": "'", "[": "(", "]": ")"})
_BRACKETS = str.maketrans({"[": "(", "]": ")"})
_SYSTEM_NOTE = re.compile(r"\[\s*oracle\s*:", re.IGNORECASE)


def replace_unstorable(text: str) -> str:
    """Join surrogates that JSON escapes left apart; mark what no database or socket would take."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_value(value: Any) -> Any:
    """Return a value that can be stored: rules tell and remember lists and maps too."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        return replace_unstorable(value)
    if isinstance(value, list):
        return [clean_value(each) for each in value]
    if isinstance(value, dict):
        return {
            key if key.isidentifier() else replace_unstorable(key): clean_value(each)
            for key, each in zip(map(str, value), value.values(), strict=True)
        }
    return value


def is_blank(text: str) -> bool:
    """Return whether there is nothing to see in a text, whatever characters it has."""
    return all(_is_invisible(character) for character in text)


def _is_invisible(character: str) -> bool:
    return (
        unicodedata.category(character) in _INVISIBLE
        or character in _BLANK
        or any(ord(character) in selectors for selectors in _SELECTORS)
    )


def neutralise_system_notes(text: str) -> str:
    """Return text from outside that cannot pass for a note of ours to the model."""
    return _SYSTEM_NOTE.sub("(Oracle:", text) if "[" in text else text


def quote_as_data(text: str, length: int = 120) -> str:
    """Return words from outside as they may stand in a note of ours to the model: on one line, in
    backticks which they cannot end, without brackets, no longer than `length` in all."""
    line = _join_lines(text, length).translate(_DATA_SIGNS)
    return f"`{truncate(line, length - 2)}`"


def bound_sentence(text: str, length: int = 400) -> str:
    """Return a sentence with quoted data in it as it may stand in a note of ours to the model: on
    one line, without brackets, no longer than `length`."""
    return truncate(_join_lines(text, length).translate(_BRACKETS), length)


def _join_lines(text: str, length: int) -> str:
    """Return what can be seen of a text, as far as it can matter, on one line."""
    line = " ".join(replace_unstorable(text[: 8 * length]).split())
    if line.isascii() and line.isprintable():
        return line
    return "".join(sign for sign in line if sign == " " or not _is_invisible(sign))


def truncate(text: str, length: int = 120) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
