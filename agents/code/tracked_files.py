"""The files that git tracks in a checkout, with what its index knows of each.

Git notes a file's size and times beside its hash, so that what has not been touched since need not
be read. A file of almost the same time as the index may have changed right afterwards: it is read.
"""

import os
import re
import subprocess
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from agents.code.commits import find_git_folder

GIT_SECONDS = 60
RACY_NANOSECONDS = 50_000_000
"""More than a tick of any system's clock of files."""
SUBMODULE_MODE, LINK_MODE = "160000", "120000"
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
_ENTRY_PATTERN = re.compile(r"(\d{6}) ([0-9a-f]{40,64}) \d\t([^\0]+)\0((?:  .*\n)*)")
_OTHER_CHARS = len("  0\t\0")
"""What an entry has besides the groups of the pattern."""
_SECOND = 1_000_000_000
_BITS = 0xFFFFFFFF
"""Git keeps so much of large numbers."""


class TrackedFile(NamedTuple):
    """A file as git's index has it: its content, and the state in which it had that."""

    mode: str
    blob_hash: str
    path: str
    state: str
    index_time: int

    def fits(self, found: os.stat_result) -> bool:
        """Return whether a file is still in the state that was recorded."""
        changed, written = found.st_ctime_ns, found.st_mtime_ns
        if written + RACY_NANOSECONDS > self.index_time:
            return False
        return self.state.startswith(
            f"  ctime: {changed // _SECOND}:{changed % _SECOND}\n"
            f"  mtime: {written // _SECOND}:{written % _SECOND}\n"
            f"  dev: {found.st_dev & _BITS}\tino: {found.st_ino & _BITS}\n"
            f"  uid: {found.st_uid}\tgid: {found.st_gid}\n"
            f"  size: {found.st_size}\tflags: "
        )


def list_tracked(root: Path) -> list[TrackedFile] | None:
    """Return the tracked files; None if this is no checkout, or git is missing."""
    if not (root / ".git").exists():
        return None
    written = _find_index_time(root)  # before it is read: who writes it meanwhile makes it younger
    output = _run_git(root)
    if output is None:
        return None
    text = output.decode(errors="replace")
    entries = _ENTRY_PATTERN.findall(text)
    if sum(map(len, chain.from_iterable(entries))) + _OTHER_CHARS * len(entries) != len(text):
        return None
    files = (TrackedFile._make((*entry, written)) for entry in entries)
    return list({file.path: file for file in files}.values())  # in a merge some are there twice


def _run_git(root: Path) -> bytes | None:
    settings = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "PATH": os.environ.get("PATH", ""),
    }
    command = [*_GIT, "-c", f"safe.directory={root.resolve()}"]
    try:
        run = subprocess.run(  # noqa: S603  # lists names; no hook, filter or monitor is run by it
            [*command, "ls-files", "--stage", "--debug", "-z"],
            cwd=root,
            env=settings,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout


def _find_index_time(root: Path) -> int:
    """Return when git's index was written; 0 if that cannot be told."""
    try:
        return (find_git_folder(root) / "index").stat().st_mtime_ns
    except OSError:
        return 0
