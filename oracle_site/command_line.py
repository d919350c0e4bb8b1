"""The command line of `manage.py`: Django's, ended quietly by Ctrl-C and by a closed pipe."""

import os
import select
import sys
from collections.abc import Sequence

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand
from django.db import Error as DatabaseError

from oracle_site.interrupts import EXIT_CODE, end_at_once_on_interrupt, raise_on_interrupt


class CommandLine(ManagementUtility):
    """Django's, in which Ctrl-C raises KeyboardInterrupt once the command is imported."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand)
        raise_on_interrupt()
        return command


def execute_from_command_line(arguments: Sequence[str]) -> None:
    CommandLine(list(arguments)).execute()


def run(arguments: Sequence[str]) -> None:
    """Run a command. `| head` closes its end early: what is left to print then goes nowhere.

    Ctrl-C that the command does not handle ends it with a line and `EXIT_CODE`; so does a database
    that cannot be used, with 1.
    """
    try:
        try:
            execute_from_command_line(list(arguments))
        finally:
            end_at_once_on_interrupt()
            sys.stdout.flush()  # here, where it can be caught, rather than as Python ends
    except DatabaseError as error:
        from agents.ledger import describe_database_error  # once Django is set up

        if "--traceback" in arguments or not (trouble := describe_database_error(error)):
            raise
        sys.stderr.write(f"{trouble} ({error})\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        sys.exit(EXIT_CODE)
    except BrokenPipeError:
        if not _is_abandoned(sys.stdout.fileno()):  # another pipe broke, such as a worker's
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_abandoned(descriptor: int) -> bool:
    """Whether nobody reads any more what is written there."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
