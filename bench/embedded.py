"""`python -m bench.embedded`: how well the embedded reader answers, and what an answer costs.

By the questions of its tests; `--half tuning` or `held-out` asks one half, `--show` prints the
answers that are not right. `--notes` says in how large a vault the cost is measured, 0 for not.
"""

import argparse
import asyncio
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.core.chunks import Content, OracleStreamChunk
from agents.vault.project_notes import ProjectNotes
from agents.vault.sample import SAMPLE_FOLDER
from agents.vault.service import NoteSearchResult
from tests.support.reader_questions import (
    ReaderQuestion,
    ask_reader,
    drive_reader,
    judge,
    open_vaults,
    read_questions,
    read_set_questions,
    score,
)
from tests.support.retrieval import import_vault

ROUNDS = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    halves = list(dict.fromkeys(q.half for q in (*read_questions(), *read_set_questions())))
    parser.add_argument("--half", default="", choices=["", *halves])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--notes", type=int, default=10_000)
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    user = User.objects.create_user("ada")
    with tempfile.TemporaryDirectory() as place:
        projects = open_vaults(Path(place), user.pk)
    for half in [options.half] if options.half else halves:
        questions = [q for q in read_questions(half) if q.vault in projects]
        report_quality(half, questions, projects, show=options.show)
    if options.notes:
        report_cost(options.notes, user.pk)
    return 0


def report_quality(
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


class TimedNotes(ProjectNotes):
    """Notes that count what their searches cost."""

    spent = 0.0

    def search(
        self, queries: Sequence[str], limit: int, *, folder: str = "", tag: str = ""
    ) -> NoteSearchResult:
        start = time.thread_time()
        found = super().search(queries, limit, folder=folder, tag=tag)
        self.spent += time.thread_time() - start
        return found


def report_cost(count: int, user_id: int) -> None:
    """Print when the first word comes, and a run's CPU as a multiple of its searches', of each
    question the median of all rounds."""
    with tempfile.TemporaryDirectory() as place:
        write_vault(Path(place), count)
        project_id = import_vault(Path(place), user_id)
    asked = [q.ask for q in read_questions() if q.vault == "sample" and not q.after]
    rounds = [[measure_cost(project_id, question) for question in asked] for _ in range(ROUNDS)]
    medians = [
        tuple(map(statistics.median, zip(*of, strict=True))) for of in zip(*rounds, strict=True)
    ]
    waits, ratios = zip(*medians, strict=True)
    print(
        f"{count:,} notes, {len(asked)} questions: first word after "
        f"{statistics.median(waits):.0f} ms, at most {max(waits):.0f} ms; "
        f"CPU {statistics.median(ratios):.1f} times that of the searches, at most {max(ratios):.1f}"
    )


def measure_cost(project_id: UUID, question: str) -> tuple[float, float]:
    """Return the milliseconds to the first word, and the run's CPU as a multiple."""
    notes = TimedNotes(project_id)
    start, cpu = time.perf_counter(), time.process_time()
    first = asyncio.run(measure_first_word(notes, question))
    spent = time.process_time() - cpu
    return (first - start) * 1_000, spent / notes.spent if notes.spent else 1.0


async def measure_first_word(notes: ProjectNotes, question: str) -> float:
    seen: list[float] = []

    def watch(chunk: OracleStreamChunk) -> None:
        if isinstance(chunk, Content) and not seen:
            seen.append(time.perf_counter())

    await drive_reader(notes, question, watch=watch)
    return seen[0]


def write_vault(folder: Path, count: int) -> None:
    """Write the sample project, and around it notes of its sentences in other orders."""
    chance = random.Random(17)
    texts = {p.relative_to(SAMPLE_FOLDER): p.read_text() for p in SAMPLE_FOLDER.rglob("*.md")}
    sentences = [s for text in texts.values() for s in re.findall(r"[A-Z][^.|#\n]{30,}\.", text)]
    words = [word for sentence in sentences for word in sentence.split()]
    for number in range(count - len(texts)):
        title = " ".join(chance.choices(words, k=3))
        body = "\n\n".join(" ".join(chance.choices(words, k=60)) + "." for _ in range(5))
        texts[Path(f"notes/{number // 100}/{number}.md")] = f"# {title}\n\n{body}\n"
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
