"""`import_vault` and `export_vault`, as one types them."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from pytest_django import Settings

from agents.management.commands import import_vault
from agents.management.lookup import find_user
from agents.management.progress import ProgressBar
from agents.management.terminal import make_printable
from agents.models import Membership, Note, Project
from agents.projects.queries import projects_for
from agents.projects.services import archive_project
from tests.support.server import ROOT, environment
from tests.support.template import copy_site


@pytest.fixture
def folder(db: None, settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    root = tmp_path / "vault"
    (root / "sub").mkdir(parents=True)
    (root / "a.md").write_text("# A\n[[b]]")
    (root / "sub" / "b.md").write_text("# B")
    (root / "p.png").write_bytes(b"\x89PNG")
    (root / "con.md").write_text("x")
    (root / "bad.md").write_bytes(b"\xff")
    (root / ".git").mkdir()
    return root


def run(command: str, *arguments: object) -> str:
    out = io.StringIO()
    call_command(command, *map(str, arguments), stdout=out)
    return out.getvalue()


def test_a_folder_becomes_a_project_and_says_what_was_left_out(folder: Path) -> None:
    said = run("import_vault", folder, "--project", "Harbour")
    assert "2 notes created, 0 updated, 2 other files stored, 0 unchanged, 2 left out." in said
    assert 'Kept as files, not notes: "bad.md": is not UTF-8' in said
    assert "1 hidden files and folders were left out." in said
    assert 'Left out: "con.md"' in said
    (project,) = projects_for(find_user(None))
    assert (project.name, project.notes.count()) == ("Harbour", 2)


def test_importing_again_goes_into_the_same_project(folder: Path) -> None:
    run("import_vault", folder, "--project", "Harbour")
    assert "0 notes created, 0 updated, 0 other files" in run(
        "import_vault", folder, "--project", "Harbour"
    )
    assert (Project.objects.count(), Note.objects.count()) == (1, 2)


def test_nothing_is_imported_for_a_reader_nor_into_an_archived_project(folder: Path) -> None:
    run("import_vault", folder / "sub", "--project", "Harbour")
    Membership.objects.update(role="reader")
    with pytest.raises(CommandError, match="cannot write in Harbour"):
        run("import_vault", folder, "--project", "Harbour")
    Membership.objects.update(role="owner")
    archive_project(Project.objects.get(), by=None)
    with pytest.raises(CommandError, match="it is archived"):
        run("import_vault", folder, "--project", "Harbour")
    assert Note.objects.count() == 1


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_a_project_is_exported_as_it_came(folder: Path, tmp_path: Path, name: str) -> None:
    run("import_vault", folder, "--project", "Harbour")
    assert "4 files written" in run("export_vault", "--project", "Harbour", tmp_path / name)
    if name == "out":
        assert (tmp_path / "out/sub/b.md").read_bytes() == (folder / "sub/b.md").read_bytes()
        run("export_vault", "--project", "Harbour", tmp_path / "out")  # what is done stays so
        (tmp_path / "out/a.md").write_text("mine")
    with pytest.raises(CommandError, match="is there already"):
        run("export_vault", "--project", "Harbour", tmp_path / name)


def test_a_place_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        run("import_vault", folder / "none", "--project", "Harbour")
    assert not Project.objects.exists()
    with pytest.raises(CommandError, match="no project"):
        run("export_vault", "--project", "Harbour", folder / "x")


def test_names_that_are_no_unicode_and_a_terminal_that_has_none_are_printed(
    tmp_path: Path,
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert make_printable("\udcff é", out) == "\\udcff \\xe9"


def test_a_database_that_takes_nothing_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(import_vault, "find_or_create_project", fail)
    with pytest.raises(CommandError, match="disk is full"):
        run("import_vault", folder, "--project", "Harbour")


@pytest.mark.early
@pytest.mark.parametrize(
    "blocks",
    [
        *(pytest.param(blocks, marks=pytest.mark.ci) for blocks in (50, 6_000)),
        *(pytest.param(blocks, marks=pytest.mark.long) for blocks in (400, 1_500)),
    ],
)
def test_a_disk_that_fills_up_stops_an_import_which_then_goes_on(
    tmp_path: Path, blocks: int
) -> None:
    """In a process whose files may have so many blocks of 512 bytes, and no more."""
    root = tmp_path / "vault"
    root.mkdir()
    for number in range(200):
        (root / f"{number}.md").write_text(f"word{number} " * 2_000)
    for number in range(5):
        (root / f"{number}.bin").write_bytes(os.urandom(300_000 * (number + 1)))
    site = copy_site(tmp_path / "site")
    command = [sys.executable, "manage.py", "import_vault", str(root), "--project", "Harbour"]
    limited = ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *command]
    options: dict[str, Any] = {"cwd": ROOT, "env": environment(site), "capture_output": True}
    stopped = subprocess.run(limited, **options, check=False, text=True)
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("CommandError: ")
    assert "Traceback" not in stopped.stderr
    whole = subprocess.run(command, **options, check=True, text=True)
    assert " 0 left out." in whole.stdout
    again = subprocess.run(command, **options, check=True, text=True)
    assert "205 unchanged" in again.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_in_a_terminal_only() -> None:
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        bar = ProgressBar(out, "Importing")
        for done in range(1, 1_001):
            bar.show(done, 1_000)
    assert terminal.getvalue().endswith("█ 1,000 of 1,000\n")
    assert terminal.getvalue().count("\r") < 100
    assert file.getvalue() == ""
