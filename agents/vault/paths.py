"""Paths of notes: relative to the project, with slashes, and such that every system can hold them.

Two paths with one key cannot both be exported to macOS or Windows, so a project has only one.
"""

import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

from agents.models.vault import MAX_PATH_LENGTH
from agents.vault.errors import NoteRefused

MAX_DEPTH = 32
MAX_PART_BYTES = 255
MAX_DECODINGS = 4
NOTE_SUFFIX = ".md"
NOTE_SUFFIXES = (".md", ".markdown", ".txt", ".canvas")
"""Files with these names are notes, if they hold text; everything else is an attachment."""

_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\:\ud800-\udfff]")
_RESERVED_NAMES = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.IGNORECASE)
_ENCODED = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)
_ENCODED_OTHERWISE = re.compile(r"%u[0-9a-f]{4}|0x2e0x2e", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""Soft hyphens and the like: nobody can see by them that two names differ."""


def validate_path(path: str) -> str:
    """Return the path if every system can hold it within a folder; else raise NoteRefused."""
    if not path or _FORBIDDEN_CHARACTERS.search(path) or not _has_allowed_length(path):
        raise NoteRefused(
            f"{path[:80]!r} is not the path of a note; pass a short path relative to the root, "
            "with slashes and without colons, such as plan/roadmap.md."
        )
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts or _climbs_when_decoded(path):
        raise NoteRefused(f"{path!r} is outside the vault; pass a path relative to its root.")
    if len(parts) > MAX_DEPTH or any(not part.strip() or part.startswith(".") for part in parts):
        raise NoteRefused(
            f"{path!r} has an empty or hidden part, or more than {MAX_DEPTH}; "
            "pass a path as vault_list shows it."
        )
    if any(part.endswith((".", " ")) or _RESERVED_NAMES.match(part) for part in parts):
        raise NoteRefused(
            f"{path!r} has a part that Windows cannot hold: a reserved name, or a dot or space "
            "at the end; pass a path without."
        )
    return path


def validate_note_path(path: str) -> str:
    """Return the path if a note can be written there; else raise NoteRefused."""
    validate_path(path)
    if not path.endswith(NOTE_SUFFIX):
        raise NoteRefused(f"{path!r} is not a note; only files that end in .md can be used.")
    return path


def _has_allowed_length(path: str) -> bool:
    encoded = path.encode("utf-8", "replace")
    return len(encoded) <= MAX_PATH_LENGTH and all(
        len(part) <= MAX_PART_BYTES for part in encoded.split(b"/")
    )


def _climbs_when_decoded(path: str) -> bool:
    """Return whether a path hides steps, roots or hidden names behind the escapes of addresses."""
    if _ENCODED_OTHERWISE.search(path):
        return True
    decoded = path
    for _ in range(MAX_DECODINGS):
        if not _ENCODED.search(decoded):
            return False
        decoded = unquote(decoded, errors="replace")
        if _FORBIDDEN_CHARACTERS.search(decoded) or "\ufffd" in decoded or decoded[:1] in "/~":
            return True
        parts = decoded.split("/")
        if len(parts) > path.count("/") + 1 or any(part.startswith(".") for part in parts):
            return True
    return True  # escaped this often, it is no name


def is_note_path(path: str) -> bool:
    return path.lower().endswith(NOTE_SUFFIXES)


@lru_cache(maxsize=10_000)
def make_key(path: str) -> str:
    """Return a path as case-insensitive systems compare it: composed and folded."""
    if path.isascii():
        return path.lower()
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFC", path))
    return unicodedata.normalize("NFC", plain.casefold())


def make_link_key(path: str) -> str:
    """Return the key of a path as links write it: notes without their `.md`."""
    return make_key(path).removesuffix(NOTE_SUFFIX)


def make_name_key(path: str) -> str:
    """Return the name by which links find what lies at a path."""
    return make_link_key(path).rpartition("/")[2]


def get_folder(path: str) -> str:
    """Return the folder of a path, empty for the root."""
    return path.rpartition("/")[0]


def get_name(path: str) -> str:
    """Return the name that people see: without folder and without `.md`."""
    return path.rpartition("/")[2].removesuffix(NOTE_SUFFIX)
