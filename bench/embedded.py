"""`python -m bench.embedded`: how well the embedded reader answers, by the questions of its tests.

`--half tuning` or `held-out` asks one half; `--show` prints the answers that are not right.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from uuid import UUID

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.contrib.auth.models import User
from django.core.management import call_command

from tests.support.reader_questions import (
    ReaderQuestion,
    ask_reader,
    judge,
    open_vaults,
    read_questions,
    score,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", default="", choices=["", "tuning", "held-out"])
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    user = User.objects.create_user("ada")
    with tempfile.TemporaryDirectory() as place:
        projects = open_vaults(Path(place), user.pk)
    for half in [options.half] if options.half else ["tuning", "held-out"]:
        questions = [q for q in read_questions(half) if q.vault in projects]
        report(half, questions, projects, show=options.show)
    return 0


def report(
    half: str, questions: list[ReaderQuestion], projects: dict[str, UUID], *, show: bool
) -> None:
    verdicts = []
    for question in questions:
        answer = asyncio.run(ask_reader(projects[question.vault], question))
        verdicts.append(judge(question, answer))
        if show and verdicts[-1] not in ("right", "recognised"):
            print(f"--- {verdicts[-1]}: {question.ask}\n{answer}\n")
    found = score(verdicts)
    print(
        f"{half:10} {len(questions)} questions: right {found.right:.0%}, wrong {found.wrong:.0%}, "
        f"not in the notes recognised {found.recognised:.0%}   {dict(found.verdicts)}"
    )


if __name__ == "__main__":
    sys.exit(main())
