"""`manage.py export_vault`: a project's notes and files as a folder or zip."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.management.lookup import find_project, find_user
from agents.management.progress import ProgressBar
from agents.vault.errors import VaultError
from agents.vault.exporter import export_project


class Command(BaseCommand):
    help = "Write a project's notes and files to a folder or, if the name ends in .zip, to a zip."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("place", type=Path, help="an empty or new folder, or a new zip")
        parser.add_argument("--project", help="by name; not needed while there is one")
        parser.add_argument(
            "--user", help="whose project; not needed with one user or administrator"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = find_project(options["project"], find_user(options["user"]))
        bar = ProgressBar(sys.stderr, "Exporting")
        try:
            count = export_project(project.pk, options["place"], bar.show)
        except VaultError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{count:,} files written to {options['place']}.")
