"""`manage.py audit_verify`: whether the record is intact, and where it is broken first."""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agents.audit.verify import verify_entries, verify_id
from agents.management.commands.runs import find_run
from agents.models import AgentRun


class Command(BaseCommand):
    help = "Check the chain of all runs, or of one. Names the first broken link of each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", nargs="*", help="ids of runs, or their beginnings")

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["run"]
        ids: Iterable[UUID] = (
            [find_run(name).pk for name in names]
            if names
            else AgentRun.objects.order_by("id").values_list("pk", flat=True).iterator(1_000)
        )
        checked = broken = 0
        for run_id in ids:
            checked += 1
            if (finding := verify_id(run_id)) is not None:
                broken += 1
                self.stdout.write(f"{run_id}  {finding}")
        if not names and (finding := verify_entries()) is not None:
            broken += 1
            self.stdout.write(f"audit entries  {finding}")
        if broken:
            raise CommandError(f"{broken} of {checked:,} records are broken.")
        self.stdout.write(f"{checked:,} runs checked: all intact.")
