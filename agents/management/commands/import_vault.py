"""`manage.py import_vault`: a folder or zip of notes becomes part of a project."""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from agents.management.lookup import find_or_create_project, find_user
from agents.management.progress import ProgressBar
from agents.management.terminal import make_printable
from agents.vault.author import Author
from agents.vault.errors import VaultError
from agents.vault.import_sources import SkippedFile, open_source
from agents.vault.importer import ImportReport, import_files

MAX_LISTED = 20


class Command(BaseCommand):
    help = "Import a folder or a zip of notes. Running it again changes only what has changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "folder", type=Path, help="a folder, such as an Obsidian vault, or a zip"
        )
        parser.add_argument(
            "--project", required=True, help="by name; created if it does not exist"
        )
        parser.add_argument(
            "--user", help="whose project; not needed with one user or administrator"
        )
        parser.add_argument("--all", action="store_true", help="list every file that was left out")

    def handle(self, *args: Any, **options: Any) -> None:
        bar = ProgressBar(sys.stderr, "Importing")
        try:
            user = find_user(options["user"])
            with open_source(options["folder"]) as source:
                project = find_or_create_project(options["project"], user)
                report = import_files(project.pk, source, Author.importer(user.pk), bar.show)
        except VaultError as error:
            raise CommandError(str(error)) from None
        except OperationalError as error:
            raise CommandError(f"The database cannot be written ({error}).") from None
        except KeyboardInterrupt:
            raise CommandError(
                "Stopped. What was imported so far is kept; run it again to continue."
            ) from None
        self._show(report, MAX_LISTED if not options["all"] else len(report.skipped))

    def _show(self, report: ImportReport, listed: int) -> None:
        if report.threads:
            self.stdout.write(f"{report.threads:,} files of threads had something new.")
        self.stdout.write(
            f"{report.created:,} notes created, {report.updated:,} updated, "
            f"{report.attachments:,} other files stored, {report.unchanged:,} unchanged, "
            f"{len(report.skipped):,} left out."
        )
        self._list(
            "Changed on both sides; the imported text was saved as", report.conflicts, listed
        )
        self._list("Kept as files, not notes", map(_describe, report.kept_as_files), listed)
        hidden = Counter(skipped.why for skipped in report.skipped)["hidden"]
        if hidden:
            self.stdout.write(f"{hidden:,} hidden files and folders were left out.")
        others = [_describe(skipped) for skipped in report.skipped if skipped.why != "hidden"]
        self._list("Left out", others, listed)

    def _list(self, title: str, lines: Any, listed: int) -> None:
        every = list(lines)
        for line in every[:listed]:
            self.stdout.write(make_printable(f"{title}: {line}", sys.stdout))
        if len(every) > listed:
            self.stdout.write(f"{title}: {len(every) - listed:,} more (--all lists them)")


def _describe(skipped: SkippedFile) -> str:
    return f"{json.dumps(skipped.path, ensure_ascii=False)}: {skipped.why}"
