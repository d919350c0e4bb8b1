"""`import_code`, as one types it."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from agents.management.commands import import_code
from agents.models import CodeFile, Membership, Project
from agents.projects.services import archive_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "gauges"
    (root / "src").mkdir(parents=True)
    (root / "src" / "gauge.py").write_text("def read_gauge(): ...\n")
    (root / "README.md").write_text("# Gauges\n")
    (root / "old.py").write_bytes(b"\xff")
    (root / "away").symlink_to(tmp_path)
    return root


def run(folder: Path, *arguments: str) -> str:
    out = io.StringIO()
    call_command("import_code", str(folder), "--project", "Gauges", *arguments, stdout=out)
    return out.getvalue()


def test_a_folder_becomes_the_code_of_a_project_and_says_how_far_it_was_read(
    folder: Path,
) -> None:
    said = run(folder)
    assert "3 files added, 0 updated, 0 unchanged, 0 removed." in said
    assert "1 are parsed, of 1 the words alone are known, of 1 the name alone." in said
    assert 'Words only: 1 × no grammar for this language\n  "README.md"' in said  # noqa: RUF001  # times
    assert 'Name only: 1 × is not UTF-8\n  "old.py"' in said  # noqa: RUF001  # times
    assert '"away"' in said
    assert Project.objects.get().name == "Gauges"


def test_again_it_reads_only_what_has_changed(folder: Path) -> None:
    run(folder)
    (folder / "src" / "gauge.py").write_text("def read_level(): ...\n")
    assert "0 files added, 1 updated, 2 unchanged, 0 removed." in run(folder)
    assert "3 files added" in run(folder, "--into", "lib")
    assert (Project.objects.count(), CodeFile.objects.count()) == (1, 6)


def test_nothing_is_read_for_a_reader_nor_into_an_archived_project(folder: Path) -> None:
    run(folder / "src")
    Membership.objects.update(role="reader")
    with pytest.raises(CommandError, match="cannot write in Gauges"):
        run(folder)
    Membership.objects.update(role="owner")
    archive_project(Project.objects.get(), by=None)
    with pytest.raises(CommandError, match="it is archived"):
        run(folder)
    assert CodeFile.objects.count() == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OperationalError("database or disk is full"), "disk is full"),
        (KeyboardInterrupt(), "run it again to continue"),
    ],
)
def test_what_stops_it_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(import_code, "import_code", fail)
    with pytest.raises(CommandError, match=said):
        run(folder)


def test_a_place_that_is_none_makes_no_project(folder: Path) -> None:
    with pytest.raises(CommandError, match=r"\w"):
        run(folder / "none")
    assert not Project.objects.exists()
