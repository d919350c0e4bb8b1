"""`manage.py serve`: pages, sockets and runs in one process."""

import gc
import logging
import os
import sys
from argparse import ArgumentParser
from typing import Any

from channels.routing import get_default_application
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from agents.ledger import NO_ANSWER, describe_database_error
from agents.vault.legacy_folders import import_legacy_folders
from chat.accounts.bootstrap import get_or_create_first_user
from chat.accounts.links import build_sign_in_link
from chat.errors import InvalidAction
from oracle_site.interrupts import end_at_once_on_interrupt
from oracle_site.write_probe import try_to_write


class Command(BaseCommand):
    help = "Serve Oracle. SIGTERM or Ctrl-C lets runs finish for a while; a second one does not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
        parser.add_argument(
            "--port", type=int, default=int(settings.PORT), help="ORACLE_PORT, else 8000; 0: any"
        )
        parser.add_argument(
            "--grace", type=float, default=20.0, help="seconds that runs may still take at the end"
        )
        parser.add_argument(
            "--sign-in", action="store_true", help="print a link that signs in once"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        end_at_once_on_interrupt()  # until the server handles it

        from oracle_site.server.server import (
            OracleServer,  # installs a reactor: only where it serves
        )

        _refuse_missing_files()
        _refuse_old_database()
        _refuse_unwritable_database()
        import_legacy_folders()
        self._port: int = options["port"]
        self._sign_in_user: User | None = self._find_sign_in_user() if options["sign_in"] else None
        server = OracleServer(
            get_default_application(),
            host=options["host"],
            port=options["port"],
            grace=options["grace"],
            on_ready=self._on_ready,
            on_failed=lambda why: self.stderr.write(self.style.ERROR(f"Cannot serve: {why}")),
        )
        gc.collect()
        gc.freeze()  # what is here stays: looking through it again and again would cost a tenth
        gc.set_threshold(10_000, 20, 20)
        server.run()
        # Everything is stored. A thread that still waits for something must not keep us here.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(server.exit_code)

    def _on_ready(self, address: str) -> None:
        self.stdout.write(f"Serving on {address} (process {os.getpid()})")
        if self._sign_in_user is not None:
            link = build_sign_in_link(self._sign_in_user, self._public_url(address))
            self.stdout.write(f"Sign in (once, within an hour): {link}")
        self.stdout.flush()

    def _find_sign_in_user(self) -> User | None:
        """Return whom to print a link for, before serving: the loop's thread asks no database."""
        if settings.HTTPS and not settings.ORIGINS:
            self._warn(
                "Pages are for HTTPS only. To use them on this machine without, set "
                "ORACLE_ORIGINS=http://127.0.0.1:PORT, as `make run` does."
            )
        try:
            return get_or_create_first_user()
        except InvalidAction as error:
            self._warn(f"No sign-in link. {error}")
            return None
        finally:
            connection.close()

    def _public_url(self, address: str) -> str:
        """Return where people find this server: the first origin, unless the port is by chance."""
        return settings.ORIGINS[0] if settings.ORIGINS and self._port else address

    def _warn(self, text: str) -> None:
        self.stderr.write(self.style.WARNING(text))


def _refuse_old_database() -> None:
    try:
        executor = MigrationExecutor(connection)
        is_old = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        raise CommandError(
            _unusable_message(describe_database_error(error) or NO_ANSWER)
        ) from error
    if is_old:
        raise CommandError("The database is not up to date. Run `manage.py migrate` first.")
    connection.close()


def _refuse_unwritable_database() -> None:
    """Refuse to serve if nothing can be stored."""
    if trouble := try_to_write():
        raise CommandError(_unusable_message(trouble))


def _unusable_message(trouble: str) -> str:
    return f"Cannot serve: nothing can be stored. {trouble} Fix that, then start again."


def _refuse_missing_files() -> None:
    if not (settings.STATIC_ROOT / "staticfiles.json").exists():
        raise CommandError("Static files are missing. Run `manage.py collectstatic` first.")
