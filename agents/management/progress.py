"""A bar in the terminal that says how far something has got."""

import time
from typing import TextIO

WIDTH = 30
SECONDS_BETWEEN = 0.1


class ProgressBar:
    """One line that is written over; in a file or a pipe, nothing but the end."""

    def __init__(self, out: TextIO, title: str) -> None:
        self._out = out
        self._title = title
        self._next = 0.0

    def show(self, done: int, total: int, path: str = "") -> None:
        """Show how many of how many are done. Cheap to call for each."""
        now = time.monotonic()
        if not self._out.isatty() or (now < self._next and done < total):
            return
        self._next = now + SECONDS_BETWEEN
        filled = WIDTH * done // max(1, total)
        bar = "█" * filled + "░" * (WIDTH - filled)
        end = "\n" if done == total else ""
        self._out.write(f"\r{self._title} {bar} {done:,} of {total:,}{end}")
        self._out.flush()
