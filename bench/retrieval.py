"""`python -m bench.retrieval`: how well search answers questions, beside plain FTS5.

Vaults that are not packed beside the questions can be named: `--vault NAME=FOLDER`, where the name
is the one that the questions use.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.search.search import search
from tests.support.retrieval import (
    DJANGO,
    FOLDER,
    MAX_RANK,
    MISSING,
    Quality,
    evaluate,
    import_vault,
    open_plain_fts5,
    read_questions,
    unpack_vault,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vault", action="append", default=[], metavar="NAME=FOLDER")
    options = parser.parse_args()
    if not FOLDER.is_dir():
        print(f"retrieval: skipped, {MISSING}")
        return 0
    call_command("migrate", verbosity=0)
    user = User.objects.create_user("ada")
    with tempfile.TemporaryDirectory() as place:
        folders = {DJANGO: unpack_vault(DJANGO, Path(place))}
        folders |= {n: Path(folder) for n, _, folder in (v.rpartition("=") for v in options.vault)}
        print(f"{'recall at 1, 5, 10 and mean reciprocal rank':50} ours, then plain FTS5")
        found = [report(name, folder, user.pk) for name, folder in folders.items()]
    if len(found) > 1:
        ours, plain = (
            Quality(sum((q.ranks for q in each), ())) for each in zip(*found, strict=True)
        )
        print(f"{'all':50} {ours}   {plain}")
    return 0


def report(name: str, folder: Path, user_id: int) -> tuple[Quality, Quality]:
    questions = [question for question in read_questions() if question.vault == name]
    project_id = import_vault(folder, user_id)
    spent = []

    def ask(question: str) -> list[str]:
        start = time.process_time()
        found = search(project_id, [question], limit=MAX_RANK)
        spent.append((time.process_time() - start) * 1000)
        return [hit.path for hit in found.hits]

    ours, plain = evaluate(questions, ask), evaluate(questions, open_plain_fts5(project_id))
    print(f"{name:50} {ours}   {plain}   {statistics.median(spent):.0f} ms of CPU")
    return ours, plain


if __name__ == "__main__":
    sys.exit(main())
