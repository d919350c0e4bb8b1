"""Names of threads: one line, fit for a file's name and for a citation."""

import re

from agents.models.threads import MAX_THREAD_NAME_LENGTH
from agents.vault.errors import NoteRefused, ThreadNameRefused
from agents.vault.paths import NOTE_SUFFIX, make_key, validate_path

_RESERVED = re.compile(r"[/#\[\]]")
"""A thread is exported as a file of its name, and cited as [thread:name#3]."""
_DIRECTION_MARKS = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
"""They would turn around the text that a name stands in, and tell no name from another."""


def validate_name(name: str) -> str:
    """Return a name as it is kept, without blanks around it, or raise ThreadNameRefused."""
    plain = re.sub(" +", " ", drop_direction_marks(name)).strip()
    if not make_name_key(plain):
        raise ThreadNameRefused("A thread needs a name, such as power supply.")
    if len(plain) > MAX_THREAD_NAME_LENGTH:
        raise ThreadNameRefused(
            f"The name of a thread may have {MAX_THREAD_NAME_LENGTH} characters at most; "
            "pass a shorter one."
        )
    if _RESERVED.search(plain):
        raise ThreadNameRefused(
            f"{plain!r} cannot be the name of a thread: it has a slash, a # or a bracket; "
            "pass a name without."
        )
    try:
        validate_path(f"{plain}/{plain}{NOTE_SUFFIX}")  # a long one is a folder
    except NoteRefused:
        raise ThreadNameRefused(
            f"{plain!r} cannot be the name of a thread, which is one of a file too: no colon, "
            "backslash or line break, no dot first or last, no escapes, none that Windows reserves."
        ) from None
    return plain


def drop_direction_marks(name: str) -> str:
    """Return a name as it is kept. Old ones may still have marks, which no comparison counts."""
    return _DIRECTION_MARKS.sub("", name)


def make_name_key(name: str) -> str:
    """Return a name as names are compared: two of one key are one thread."""
    return make_key(" ".join(name.split()))
