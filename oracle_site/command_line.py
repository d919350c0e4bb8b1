"""The command line of `manage.py`: Django's, ended quietly when whoever reads has read enough."""

import os
import select
import sys
from collections.abc import Sequence

from django.core.management import execute_from_command_line


def run(arguments: Sequence[str]) -> None:
    """Run a command. `| head` closes its end early: what is left to print then goes nowhere."""
    try:
        try:
            execute_from_command_line(list(arguments))
        finally:
            sys.stdout.flush()  # here, where it can be caught, rather than as Python ends
    except BrokenPipeError:
        if not _is_abandoned(sys.stdout.fileno()):  # another pipe broke, such as a worker's
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_abandoned(descriptor: int) -> bool:
    """Whether nobody reads any more what is written there."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
