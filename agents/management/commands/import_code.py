"""`manage.py import_code`: a folder, a git checkout or a zip becomes a project's code."""

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from agents.code.importer import CodeImportReport, import_code
from agents.code.project_code import explain_limits
from agents.code.service import CodeError
from agents.code.sources import open_code_source
from agents.management.lookup import find_or_create_project, find_user
from agents.management.progress import ProgressBar
from agents.management.terminal import make_printable
from agents.vault.import_sources import SkippedFile

MAX_LISTED = 20


class Command(BaseCommand):
    help = "Read code into a project. Running it again reads only what has changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="a folder, a git checkout or a zip")
        parser.add_argument(
            "--project", required=True, help="by name; created if it does not exist"
        )
        parser.add_argument("--into", default="", help="a folder of the project's code")
        parser.add_argument(
            "--user", help="whose project; not needed with one user or administrator"
        )
        parser.add_argument("--all", action="store_true", help="list every file by name")

    def handle(self, *args: Any, **options: Any) -> None:
        bar = ProgressBar(sys.stderr, "Reading")
        try:
            user = find_user(options["user"])
            with open_code_source(options["folder"]) as source:
                project = find_or_create_project(options["project"], user)
                report = import_code(
                    project.pk,
                    source,
                    folder=options["into"],
                    user_id=user.pk,
                    progress=bar.show,
                )
        except CodeError as error:
            raise CommandError(str(error)) from None
        except OperationalError as error:
            raise CommandError(f"The database cannot be written ({error}).") from None
        except KeyboardInterrupt:
            raise CommandError(
                "Stopped. What was read so far is kept; run it again to continue."
            ) from None
        self._show(report, show_all=options["all"])

    def _show(self, report: CodeImportReport, *, show_all: bool) -> None:
        at = f" at commit {report.commit[:12]}" if report.commit else ""
        self.stdout.write(
            f"{report.created:,} files added, {report.updated:,} updated, {report.unchanged:,} "
            f"unchanged, {report.removed:,} removed{at}. {report.parsed:,} are parsed, of "
            f"{len(report.words_only):,} the words alone are known, of {len(report.listed):,} the "
            "name alone."
        )
        self._list("Words only", report.words_only, show_all)
        self._list("Name only", report.listed, show_all)
        self._list("Left out", report.skipped, show_all)
        if limits := explain_limits():
            self.stdout.write(limits)

    def _list(self, title: str, files: Sequence[SkippedFile], show_all: bool) -> None:
        """Show how many files there are for each reason; if they are few, or all, by name."""
        for why, count in Counter(file.why for file in files).most_common():
            self.stdout.write(f"{title}: {count:,} × {make_printable(why, sys.stdout)}")  # noqa: RUF001  # times
            if show_all or count <= MAX_LISTED:
                for file in files:
                    if file.why == why:
                        name = json.dumps(file.path, ensure_ascii=False)
                        self.stdout.write(make_printable(f"  {name}", sys.stdout))
