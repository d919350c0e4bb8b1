"""The commit of a checkout, read from its files: no program of git's is started for it."""

import re
from pathlib import Path

MAX_BYTES = 4 * 1024 * 1024
_COMMIT_PATTERN = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF_PATTERN = re.compile(r"ref: (refs/[^\s\\]{1,400})")


def find_git_folder(root: Path) -> Path:
    """Return where git keeps what it knows of a checkout."""
    folder = root / ".git"
    if folder.is_file() and (match := re.match(r"gitdir: (.+)", _read(folder))):
        return (root / match[1].strip()).resolve()  # a worktree or submodule has it elsewhere
    return folder


def read_commit(root: Path) -> str:
    """Return the id of the commit that is checked out; "" if it cannot be told."""
    folder = find_git_folder(root)
    head = _read(folder / "HEAD").strip()
    if _COMMIT_PATTERN.fullmatch(head):
        return head
    match = _REF_PATTERN.fullmatch(head)
    if match is None or ".." in match[1].split("/"):
        return ""
    shared = _read(folder / "commondir").strip()
    folders = [folder, (folder / shared).resolve()] if shared else [folder]
    found = (_look_up(each, match[1]) for each in folders)
    return next(filter(None, found), "")


def _look_up(folder: Path, ref: str) -> str:
    direct = _read(folder / ref).strip()
    if _COMMIT_PATTERN.fullmatch(direct):
        return direct
    for line in _read(folder / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref and _COMMIT_PATTERN.fullmatch(commit):
            return commit
    return ""


def _read(file: Path) -> str:
    try:
        if not file.is_file() or file.stat().st_size > MAX_BYTES:
            return ""
        return file.read_text(errors="replace")
    except OSError:
        return ""
