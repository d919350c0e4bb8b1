"""Text that can be stored, and sent to a model without being mistaken for ours."""

import re

_OUR_NOTE = re.compile(r"\[\s*oracle\s*:", re.IGNORECASE)


def storable(text: str) -> str:
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


def as_data(text: str) -> str:
    """Text from outside that cannot pass for a note of ours to the model."""
    return _OUR_NOTE.sub("(Oracle:", text) if "[" in text else text
