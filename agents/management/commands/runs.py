"""`manage.py runs`: the newest runs, or one with everything it said."""

import sys
from argparse import ArgumentParser
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from agents.core.reasons import get_reason
from agents.ledger import load_chunks
from agents.management.terminal import Terminal
from agents.models import AgentRun


class Command(BaseCommand):
    help = "List the newest runs, or show one by its id."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", nargs="?", help="the id of a run, or its beginning")
        parser.add_argument("--most", type=int, default=20, help="how many to list")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["run"] is None:
            for run in AgentRun.objects.select_related("user")[: options["most"]]:
                self.stdout.write(_format_run(run))
            return
        run = find_run(options["run"])
        self.stdout.write(f"{_format_run(run)}\n? {run.question}\n")
        terminal = Terminal(sys.stdout)
        for chunk in load_chunks(run.pk):
            terminal.show(chunk)


def _format_run(run: AgentRun) -> str:
    label = get_reason(run.reason).label if run.reason else "Running"
    when = run.started_at.strftime("%Y-%m-%d %H:%M:%S")
    question = " ".join(run.question.split())[:60]
    iterations = f"{run.turns:2} iteration{' ' if run.turns == 1 else 's'}"
    return f"{run.pk}  {when}  {run.user}  {label:15}  {iterations}  {question}"


def find_run(name: str) -> AgentRun:
    """Return the run of that id. The beginning of an id will do while it is the only one."""
    try:
        found = list(AgentRun.objects.filter(pk=UUID(name)))
    except ValueError:
        ids = AgentRun.objects.values_list("pk", flat=True).iterator(1_000)
        alike = islice((pk for pk in ids if str(pk).startswith(name)), 2)
        found = list(AgentRun.objects.filter(pk__in=list(alike)))
    if len(found) != 1:
        problem = "no run" if not found else "more than one run"
        raise CommandError(f"There is {problem} {name!r}; `manage.py runs` lists them.")
    return found[0]
