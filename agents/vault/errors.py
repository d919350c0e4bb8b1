"""What can go wrong with notes and threads, by who must act.

VaultError
├── NoteUnavailable     there is no such note, or the disk does not give it
├── ThreadUnavailable   there is no such thread or entry
├── VaultRefused        the person may not do it
│   ├── NoteRefused     the path, the size or the project does not allow it
│   │   ├── NoteExists  something is at that path already
│   │   └── NoteOutdated  a run would replace what it has not read
│   └── ThreadRefused   the size or the type of an entry does not allow it
│       ├── ThreadNameRefused  no thread can have this name
│       └── ThreadArchived     it takes no entries until it is reactivated
└── NoteChanged         somebody else changed the note since it was read
"""


class VaultError(Exception):
    """The vault could not, or may not. The message says what was wrong, and what to do."""


class NoteUnavailable(VaultError):
    """There is no such note, or the disk does not give or take it."""


class ThreadUnavailable(VaultError):
    """There is no such thread, or no such entry in it."""


class VaultRefused(VaultError):
    """It may not be done: the person has no right to it, or what is given does not fit."""


class NoteRefused(VaultRefused):
    """The path, the size or the vault itself does not allow it."""


class NoteExists(NoteRefused):
    """Something is at that path already."""


class NoteOutdated(NoteRefused):
    """A run would replace a note that is no longer what it has read: `text` is what it is now."""

    def __init__(self, message: str, path: str, text: str) -> None:
        super().__init__(message)
        self.path = path
        self.text = text


class ThreadRefused(VaultRefused):
    """The size or the type of an entry does not allow it."""


class ThreadNameRefused(ThreadRefused):
    """No thread can have this name."""


class ThreadArchived(ThreadRefused):
    """The thread takes no entries until it is reactivated."""


class NoteChanged(VaultError):
    """The note is no longer what was read: `base` is what it was then, `theirs` what it is now."""

    def __init__(
        self, path: str, *, base: str, theirs: str, yours: str, expected: int, version: int
    ) -> None:
        super().__init__(
            f"{path!r} was changed since it was read (it was version {expected}, now it is "
            f"{version}); read it again, then change what it says now."
        )
        self.path = path
        self.base = base
        self.theirs = theirs
        self.yours = yours
        self.expected = expected
        self.version = version
