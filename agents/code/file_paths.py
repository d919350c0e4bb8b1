"""Paths of code: folders as they are asked for, and what kind of file lies at a path."""

import re

from agents.code.service import CodeRefused
from agents.vault.errors import NoteRefused
from agents.vault.listing import normalise_folder

_TEST_PATTERN = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|spec|specs|testdata|fixtures)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$|_test\.(?:go|py|cc|cpp)$|(?:\.|_)(?:test|spec)\.[^/]+$"
    r"|(?:Test|Tests|IT)\.(?:java|cs|kt)$",
)
_MIGRATION_PATTERN = re.compile(r"(?:^|/)(?:migrations|migrate|versions)/")


def normalise_code_folder(folder: str) -> str:
    """Return a folder as paths begin with it: empty for the root, else with a slash at its end."""
    try:
        return normalise_folder(folder.strip().removeprefix("./"))
    except NoteRefused:
        raise CodeRefused(f"{folder[:80]!r} is not a folder of this project's code.") from None


def is_test_path(path: str) -> bool:
    return _TEST_PATTERN.search(path) is not None


def is_migration_path(path: str) -> bool:
    return _MIGRATION_PATTERN.search(path) is not None
