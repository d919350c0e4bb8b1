"""`manage.py behaviour FILE`: every problem of a behaviour with its place, or its drawing."""

from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.core.behaviours import BehaviourVocabulary, InvalidBehaviour, read_behaviour
from agents.core.behaviours.drawing import draw_behaviour
from agents.core.behaviours.sexp import MAX_LENGTH
from agents.core.behaviours.shipped import FILE_SUFFIX, load_shipped_texts
from agents.core.decisions import TREES
from agents.tools import registry


class Command(BaseCommand):
    help = "Check a behaviour, and draw it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a behaviour, a .lisp file")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        vocabulary = BehaviourVocabulary(
            tools=registry.list_parameters(),
            decision_trees=TREES.names(),
            behaviours=_load_others(path),
        )
        try:
            behaviour = read_behaviour(_read_text(path), vocabulary)
        except InvalidBehaviour as error:
            for problem in error.problems:
                self.stdout.write(str(problem))
            raise SystemExit(1) from None
        for line in draw_behaviour(behaviour):
            self.stdout.write(line)


def _load_others(path: Path) -> Mapping[str, str]:
    """Return what can be named in a file: the shipped behaviours, and those beside it."""
    found = dict(load_shipped_texts())
    for other in sorted(path.parent.glob(f"*{FILE_SUFFIX}")):
        if other == path or not other.is_file():
            continue
        with suppress(CommandError):  # then it cannot be named, and harms nobody who does not
            found[other.stem] = _read_text(other)
    return found


def _read_text(path: Path) -> str:
    """Return the text of a behaviour's file, no more of it than shows that it is too long."""
    try:
        with path.open(encoding="utf-8-sig") as file:  # some editors begin it with a mark
            return file.read(MAX_LENGTH + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}.") from None
