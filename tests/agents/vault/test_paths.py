"""Paths: what no system could hold, or could lead out, is refused; what collides has one key."""

from pathlib import Path

import pytest

from agents.vault.errors import NoteRefused
from agents.vault.paths import (
    is_note_path,
    make_key,
    make_name_key,
    validate_note_path,
    validate_path,
)

PAYLOADS = Path(__file__).resolve().parents[4] / "shared" / "payloads"
BAD_PATHS = {
    "empty": "",
    "blank": " ",
    "upwards": "../outside.md",
    "upwards_within": "a/../../outside.md",
    "upwards_at_the_end": "a/..",
    "only_upwards": "..",
    "absolute": "/outside.md",
    "home": "~/outside.md",
    "backslash": "..\\outside.md",
    "drive": "C:/outside.md",
    "stream": "a.md:stream",
    "empty_part": "a//b.md",
    "here": "./a.md",
    "hidden": ".hidden.md",
    "hidden_folder": "a/.git/b.md",
    "slash_at_the_end": "note.md/",
    "nul": "note.md\0.txt",
    "line_break": "line\nbreak.md",
    "escape": "\x1b[2J.md",
    "line_separator": "a\u2028b.md",
    "half_a_character": "\ud800.md",
    "long_part": "x" * 253 + ".md",
    "long_path": "/".join(["x" * 100] * 6) + ".md",
    "deep": "/".join("a" * 33) + ".md",
    "reserved": "CON.md",
    "reserved_folder": "aux/b.md",
    "reserved_with_suffixes": "lpt1.tar.md",
    "dot_at_the_end": "a./b.md",
    "space_at_the_end": "a /b.md",
    "escaped_dots": "%2e%2e/outside.md",
    "twice_escaped": "%252e%252e%252foutside.md",
    "escaped_slash": "a%2fb.md",
    "overlong": "%c0%ae%c0%ae/outside.md",
}


@pytest.mark.parametrize("path", BAD_PATHS.values(), ids=BAD_PATHS)
def test_a_path_that_cannot_be_kept_is_refused(path: str) -> None:
    with pytest.raises(NoteRefused, match="pass a"):
        validate_path(path)


@pytest.mark.parametrize("name", ["traversal.txt", "traversal_deep.txt"])
def test_every_known_traversal_is_refused(name: str) -> None:
    if not PAYLOADS.is_dir():
        pytest.skip("the payloads are not on this machine")
    for line in (PAYLOADS / name).read_text(errors="replace").splitlines():
        filled = line.replace("{FILE}", "etc/passwd")
        if filled.strip():
            for path in (filled, f"{filled}.md", f"a/{filled}"):
                with pytest.raises(NoteRefused):
                    validate_note_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "Über uns/Plan (2026), neu.md",
        "100% sure.md",
        "50%25.md",
        "C#, a|b [draft]^2.md",
        'what? *this* "one" <here>.md',
        "console.md",
        "日本語/ノート.md",
        " leading space.md",
        "a...b.md",
        "soft\u00adhyphen.md",
    ],
)
def test_a_good_path_is_taken_as_it_is(path: str) -> None:
    assert validate_note_path(path) == path


@pytest.mark.parametrize("path", ["note.txt", "note.md.txt", "note", "a.canvas"])
def test_only_markdown_is_written(path: str) -> None:
    with pytest.raises(NoteRefused, match=r"end in \.md"):
        validate_note_path(path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Plan.md", "plan.MD"),
        ("Bu\u0308cher.md", "B\u00fccher.md"),
        ("screen\u00adshot.md", "screenshot.md"),
        ("STRASSE.md", "straße.md"),
        ("zero\u200bwidth.md", "zerowidth.md"),
        ("right\u202eto left.md", "rightto left.md"),
    ],
)
def test_paths_that_nobody_can_tell_apart_have_one_key(one: str, other: str) -> None:
    assert make_key(one) == make_key(other)


def test_a_link_calls_a_note_by_its_name_and_other_files_with_their_suffix() -> None:
    assert make_name_key("Plan/Road Map.md") == "road map"
    assert make_name_key("v1.2.md") == "v1.2"
    assert make_name_key("Pictures/Map.PNG") == "map.png"
    assert make_name_key("docs/index.txt") == "index.txt"


def test_notes_are_known_by_their_suffix() -> None:
    assert [is_note_path(p) for p in ("a.md", "a.TXT", "b.canvas", "c.png", "d", "e.base")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
