"""Text that can be stored and sent."""


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
