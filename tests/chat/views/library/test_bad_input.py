"""Hostile text wherever the library takes text: a page or a refusal in words, never an error."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from agents.models import Note
from chat.rendering import quota
from tests.chat.views.library.conftest import Shelf
from tests.support import hostile

ODD = [
    "a\0b", "\x1b[31m", "CON", "nul.md", "e\u0301", "so\u00adft", "..", ".", " ", "\ud800",
    "#" * 300, "a" * 3_000, "🤘" * 200, "\u202egnp.exe", "file:///etc/passwd", "../../etc/passwd",
    "%2e%2e/%2e%2e/x", "a/../../x", '"', "NEAR(a b)", "a* OR (", "scope:x", "-x", "^", "{}",
]  # fmt: skip
COLLECTED = ("traversal.txt", "traversal_deep.txt", "xss_alert.txt", "xss_jhaddix.txt")
QUERIES = ("search/?q=", "search/?q=x&tag=", "search/?q=x&folder=", "?folder=", "tags/?tag=")
PATHS = ("notes", "history", "versions/1", "files", "edit", "move")


def requests(payload: str, number: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, address and form of every request that can carry a text."""
    there, text = (
        quote(payload, safe="", errors="replace"),
        payload.encode(errors="replace").decode(),
    )
    note = f"t/{number}.md"
    for place in PATHS:
        yield "get", f"{place}/{there}", {}
    for query in QUERIES:
        yield "get", query + there, {}
    yield "post", "new/", {"path": text, "text": "x"}
    yield "post", "new/", {"path": note, "text": f"{text}\n[[{text}]] ![[{text}]] #{text}\n"}
    yield "get", f"notes/{note}", {}
    yield "post", "preview/", {"text": text, "path": text}
    yield "post", f"move/{note}", {"new_path": text}
    file, paths = SimpleUploadedFile("f.md", b"x"), json.dumps([payload])
    yield "post", "upload/", {"files": file, "paths": paths, "folder": text}
    piece = {"path": text, "id": text, "offset": text, "last": "yes"}
    yield "post", "upload/piece/", {"piece": SimpleUploadedFile("f.md", b"x"), **piece}


def try_all(shelf: Shelf, payloads: list[str]) -> list[str]:
    """Return the requests that were an error of the server."""
    failed = []
    for number, payload in enumerate(payloads):
        quota._buckets.clear()
        for method, rest, form in requests(payload, number):
            response = getattr(shelf.ada, method)(shelf.address(rest), form)
            if response.status_code >= 500:
                failed.append(f"{method} {rest} {form}")
    return failed


def check(shelf: Shelf, payloads: list[str]) -> None:
    before = Note.objects.exclude(project=shelf.project).count()
    assert try_all(shelf, payloads) == []
    assert Note.objects.exclude(project=shelf.project).count() == before
    assert {file.name for file in settings.DATA_DIR.iterdir()} <= {"attachments", "uploads"}


def test_odd_text_is_read_or_refused_everywhere(shelf: Shelf) -> None:
    check(shelf, ["\ud800", "../../etc/pass\0wd"])


@pytest.mark.ci
def test_all_odd_text_is_read_or_refused_everywhere(shelf: Shelf) -> None:
    check(shelf, ODD)


@pytest.mark.early
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(0, marks=pytest.mark.ci),
        *(pytest.param(first, marks=pytest.mark.long) for first in range(10, 80, 10)),
    ],
)
def test_collected_payloads_are_read_or_refused_everywhere(shelf: Shelf, first: int) -> None:
    """Every tenth, in eight parts of which continuous integration plays one."""
    collected = [*hostile.naughty(), *(line for name in COLLECTED for line in hostile.lines(name))]
    check(shelf, collected[first::80])
