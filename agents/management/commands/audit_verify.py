"""`manage.py audit_verify`: whether the record is intact, and where it is broken first."""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.audit.verify import verify_entries, verify_run
from agents.management.commands.runs import run_named
from agents.models import AgentRun


class Command(BaseCommand):
    help = "Check the chain of all runs, or of one. Names the first broken link of each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", nargs="*", help="ids of runs, or their beginnings")

    def handle(self, *args: Any, **options: Any) -> None:
        names = options["run"]
        runs: Iterable[AgentRun] = (
            [run_named(name) for name in names]
            if names
            else AgentRun.objects.order_by("started_at", "id").iterator(100)
        )
        checked = broken = 0
        for run in runs:
            checked += 1
            if (finding := verify_run(run)) is not None:
                broken += 1
                self.stdout.write(f"{run.pk}  {finding}")
        if not names and (finding := verify_entries()) is not None:
            broken += 1
            self.stdout.write(f"audit entries  {finding}")
        if broken:
            raise CommandError(f"{broken} of {checked:,} records are broken.")
        self.stdout.write(f"{checked:,} runs checked: all intact.")
