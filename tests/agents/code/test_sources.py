"""Where code comes from: whatever lies in a folder, nothing outside of it is read."""

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from agents.code import sources
from agents.code.service import CodeRefused
from agents.code.sources import CodeSource, open_code_source
from agents.models import CodeFile
from agents.vault.import_sources import SkippedFile
from tests.agents.code.conftest import ReadIn
from tests.support import hostile

SECRET = "the secret of another folder"


def run_git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    settings = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *names, "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(folder: Path) -> Path:
    run_git(folder, "init", "-q", "-b", "main")
    (folder / "a.py").write_text("a = 1\n")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    return folder


def list_source(source: CodeSource) -> dict[str, str]:
    """Return why each file is left out; "" of those that are read."""
    return {f.path: f.why if isinstance(f, SkippedFile) else "" for f in source.files}


def list_files(place: Path) -> dict[str, str]:
    with open_code_source(place) as source:
        return list_source(source)


def test_links_are_named_and_never_followed(read_in: ReadIn, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(SECRET)
    (folder / "file.py").symlink_to(outside / "secret.py")
    (folder / "folder").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "nowhere.py").symlink_to("missing")
    report = read_in({"a.py": "a = 1\n"})
    assert {file.path for file in report.skipped} == {"file.py", "folder", "loop", "nowhere.py"}
    assert {file.why for file in report.skipped} == {sources.LINK}
    assert list(CodeFile.objects.values_list("path", flat=True)) == ["a.py"]


def test_a_file_that_becomes_a_link_while_it_is_read_is_not_followed(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.py").write_text(SECRET)
    (folder / "sub").mkdir()
    (folder / "sub" / "a.py").write_text("a = 1\n")
    (folder / "b.py").write_text("b = 1\n")
    with open_code_source(folder) as source:
        (folder / "b.py").unlink()
        (folder / "b.py").symlink_to(tmp_path / "secret.py")
        (folder / "sub").rename(folder / "old")
        (folder / "sub").symlink_to(folder / "old")
        for file in source.files:
            with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
                file.open()  # type: ignore[union-attr]


def test_a_folder_that_changes_while_it_is_read_is_read_as_far_as_it_goes(
    read_in: ReadIn, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in({"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"})
    listed = sources._FolderReader.walk

    def walk_then_change(reader: sources._FolderReader) -> object:
        found = list(listed(reader))
        (folder / "a.py").unlink()
        (folder / "b.py").write_text("b = 2\n")
        (folder / "new.py").write_text("new = 1\n")
        return iter(found)

    monkeypatch.setattr(sources._FolderReader, "walk", walk_then_change)
    report = read_in()
    assert [(file.path, file.why) for file in report.skipped] == [
        ("a.py", "gone before it could be read")
    ]
    monkeypatch.undo()
    assert CodeFile.objects.get(path="b.py").text == "b = 2\n"
    assert (read_in().created, CodeFile.objects.filter(path="a.py").exists()) == (1, False)


def test_what_is_no_file_is_not_waited_for(read_in: ReadIn, folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    [left] = read_in().skipped
    assert (left.path, left.why) == ("pipe.py", "not a regular file")


def test_more_files_than_there_may_be_are_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_FILES", 10)
    for number in range(12):
        (folder / f"{number}.py").touch()
    found = list_files(folder)
    assert len(found) == 11
    assert [path for path, why in found.items() if why] != []


def test_tracked_files_of_a_checkout_are_read_with_its_commit(checkout: Path) -> None:
    (checkout / "untracked.py").touch()
    with open_code_source(checkout) as source:
        assert list_source(source) == {"a.py": ""}
        assert source.commit == run_git(checkout, "rev-parse", "HEAD")


def test_a_checkout_without_tracked_files_is_refused_with_the_reason(folder: Path) -> None:
    run_git(folder, "init", "-q")
    (folder / "a.py").touch()
    with pytest.raises(CodeRefused, match="Git tracks no files"):
        list_files(folder)


def test_a_detached_checkout_and_a_worktree_have_their_commits(
    checkout: Path, tmp_path: Path
) -> None:
    run_git(checkout, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "b.py").write_text("b = 1\n")
    run_git(tmp_path / "side", "add", ".")
    run_git(tmp_path / "side", "commit", "-qm", "second")
    run_git(checkout, "checkout", "-q", "--detach")
    run_git(checkout, "pack-refs", "--all")
    for place, files in ((checkout, {"a.py": ""}), (tmp_path / "side", {"a.py": "", "b.py": ""})):
        with open_code_source(place) as source:
            assert list_source(source) == files
            assert source.commit == run_git(place, "rev-parse", "HEAD")


def test_a_checkout_in_the_middle_of_a_merge_is_read_as_it_lies_there(
    checkout: Path, read_in: ReadIn
) -> None:
    run_git(checkout, "checkout", "-qb", "side")
    (checkout / "a.py").write_text("a = 2\n")
    run_git(checkout, "commit", "-qam", "two")
    run_git(checkout, "checkout", "-q", "main")
    (checkout / "a.py").write_text("a = 3\n")
    run_git(checkout, "commit", "-qam", "three")
    run_git(checkout, "merge", "side")
    assert read_in().created == 1
    assert "<<<<<<<" in CodeFile.objects.get().text


def test_a_bare_repository_has_no_files_to_read(checkout: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(checkout), "bare.git")
    assert "a.py" not in list_files(tmp_path / "bare.git")


def test_a_submodule_is_named_and_left_out(checkout: Path, tmp_path: Path) -> None:
    run_git(checkout, "submodule", "add", "-q", str(checkout), "inner")
    assert list_files(checkout)["inner"] == sources.SUBMODULE
    inner = tmp_path / "plain" / "inner"
    inner.mkdir(parents=True)
    (inner / ".git").write_text("gitdir: /nowhere\n")
    assert list_files(tmp_path / "plain") == {"inner": sources.SUBMODULE}


def test_no_program_that_a_checkout_names_is_run(checkout: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.hooksPath", "filter.x.clean", "filter.x.smudge"):
        run_git(checkout, "config", key, str(script))
    (checkout / ".gitattributes").write_text("* filter=x\n")
    assert list_files(checkout)["a.py"] == ""
    assert not trap.exists()


@pytest.mark.parametrize(
    "head", ["ref: refs/../../../secret", "ref: refs/heads/none", "", "x" * 99]
)
def test_a_head_that_makes_no_sense_gives_no_commit(checkout: Path, head: str) -> None:
    (checkout / ".git" / "HEAD").write_text(head)
    with open_code_source(checkout) as source:
        assert source.commit == ""


def test_hostile_names_are_read_or_left_out_with_a_reason(read_in: ReadIn, folder: Path) -> None:
    for name in (*hostile.OURS, *hostile.naughty(), *hostile.lines("traversal.txt")):
        with suppress(OSError, ValueError):  # what no file can be called
            (folder / f"{name.replace('/', '_')}.py").write_text("x = 1\n")
    made = len(list(folder.iterdir()))
    assert made > 300
    report = read_in()
    assert report.created + len(report.skipped) == made
    assert {file.why for file in report.skipped} <= {
        "hidden",
        "a path that not every system can hold",
    }
    assert json.dumps(report.to_json()).encode()
