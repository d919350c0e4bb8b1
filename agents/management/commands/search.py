"""`manage.py search`: the best notes of a project for one to four phrasings, a hit on each line."""

import dataclasses
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.management.lookup import find_project, find_user
from agents.management.terminal import replace_control_characters
from agents.vault.errors import VaultError
from agents.vault.note_search import search_notes
from agents.vault.service import NoteHit

MAX_LIMIT = 100


class Command(BaseCommand):
    help = "Search the notes of a project. Several phrasings find more than one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queries", nargs="+", metavar="QUERY", help="one to four phrasings")
        parser.add_argument("--project", help="by name; not needed while there is one")
        parser.add_argument(
            "--user", help="whose project; not needed with one user or administrator"
        )
        parser.add_argument("--limit", type=int, default=5, help="how many hits at most")
        parser.add_argument("--json", action="store_true", help="a JSON object on each line")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["limit"] <= MAX_LIMIT:
            raise CommandError(f"--limit takes 1 to {MAX_LIMIT}.")
        project = find_project(options["project"], find_user(options["user"]))
        try:
            found = search_notes(project.pk, options["queries"], limit=options["limit"])
        except VaultError as error:
            raise CommandError(str(error)) from None
        for hit in found.hits:
            self.stdout.write(_to_json(hit) if options["json"] else _describe(hit))
        if found.missing_words:
            words = ", ".join(found.missing_words)
            self.stderr.write(replace_control_characters(f"No note has: {words}"))


def _to_json(hit: NoteHit) -> str:
    return json.dumps(dataclasses.asdict(hit), ensure_ascii=False)


def _describe(hit: NoteHit) -> str:
    place = " > ".join(filter(None, (hit.title, hit.heading)))
    line = f"{hit.path}:{hit.line}  {hit.score:.2f}  {place}  {hit.snippet}"
    return replace_control_characters(" ".join(line.split()))
