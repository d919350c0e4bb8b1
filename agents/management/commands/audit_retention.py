"""`manage.py audit_retention`: erase what was said in old runs, and keep the record of them."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from agents.audit.erasure import erase
from agents.models import AgentRun


class Command(BaseCommand):
    help = (
        "Erase questions, answers, arguments and results of runs that ended long ago. Numbers, "
        "reasons and the chain stay, so audit_verify still holds. This cannot be undone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, required=True, help="keep anything newer")
        parser.add_argument("--dry-run", action="store_true", help="only print how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["days"] < 1:
            raise CommandError("--days must be 1 or more.")
        before = timezone.now() - timedelta(days=options["days"])
        old = AgentRun.objects.filter(ended_at__lt=before).exclude(question="")
        if options["dry_run"]:
            self.stdout.write(f"{old.count():,} runs would be erased.")
            return
        ids = old.order_by("ended_at").values_list("pk", flat=True)
        count = erase(list(ids), why=f"older than {options['days']} days")
        self.stdout.write(f"{count:,} runs erased.")
