"""Ctrl-C while a command starts. Imports nothing that takes time, so that it can be set first."""

import os
import signal
from typing import Any

EXIT_CODE = 130
"""As shells report a command that was ended by Ctrl-C."""


def end_at_once_on_interrupt() -> None:
    """Let Ctrl-C end the process with a line, from now on.

    For as long as nothing is begun that has to be ended in order. A KeyboardInterrupt in the middle
    of an import would be a traceback, or be lost in code that cannot raise.
    """
    signal.signal(signal.SIGINT, _end)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, from now on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: Any) -> None:
    os.write(2, b"\nStopped.\n")
    os._exit(EXIT_CODE)
