"""`manage.py purge_projects`: remove for good what was deleted more than 30 days ago."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agents.projects.purge import list_due, purge_due_projects


class Command(BaseCommand):
    help = (
        "Remove notes, conversations and words of projects that were deleted more than 30 days "
        "ago. The record of their runs stays, so audit_verify still holds. The server does this "
        "once a day. It cannot be undone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"{list_due().count():,} projects would be purged.")
            return
        self.stdout.write(f"{purge_due_projects():,} projects purged.")
