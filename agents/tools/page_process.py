"""Parse a page in a separate process: an expensive one would block all threads of this one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Lock

from agents.tools.definition import ToolFailed
from agents.tools.page_reading import FetchedPage
from agents.tools.page_text import PageText

COMMAND = (sys.executable, "-S", "-m", "agents.tools.page_reading")
MAX_WAIT = 15.0
"""Seconds, on a machine that has other things to do."""
_ROOT = Path(__file__).resolve().parents[2]
_ONE_PAGE = Lock()
"""Many processes at once would take every core."""


def read_in_process(fetched: FetchedPage) -> PageText:
    """Return title and text of a page; ToolFailed if it takes too long, or too much memory."""
    head = json.dumps([fetched.url, fetched.declared]).encode()
    try:
        with _ONE_PAGE:
            done = subprocess.run(  # noqa: S603  # our own program
                COMMAND,
                input=head + b"\n" + fetched.body,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
                timeout=MAX_WAIT,
                check=True,
            )
    except subprocess.SubprocessError:
        raise ToolFailed("The page takes too long to read. Do without it.") from None
    found = json.loads(done.stdout)
    return PageText(**{**found, "links": tuple(found["links"])})
