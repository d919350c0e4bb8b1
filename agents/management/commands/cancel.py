"""`manage.py cancel`: stop a run, whichever process has it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from agents.management.commands.runs import find_run
from agents.models import AgentRun


class Command(BaseCommand):
    help = "Stop a run by its id. What it wrote is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", help="the id of a run, or its beginning")

    def handle(self, *args: Any, **options: Any) -> None:
        run = find_run(options["run"])
        active = AgentRun.objects.filter(pk=run.pk, outcome__isnull=True)
        if not active.update(cancel_requested_at=timezone.now()):
            raise CommandError(f"Run {run.pk} has ended already ({run.reason}).")
        self.stdout.write(f"Run {run.pk} is being stopped.")
