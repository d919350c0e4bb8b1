"""The questions that were written from the notes alone, before the reader was tuned."""

from pathlib import Path
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from tests.support.reader_questions import (
    ask_reader,
    judge,
    open_vaults,
    read_questions,
    read_set_questions,
    score,
)

REPORTED = (
    "newcomer", "third", "fourth", "fourth-django", "fifth", "sixth",
    "author-1", "author-2", "author-3", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "django-a", "django-b", "django-c",
)  # fmt: skip
"""Questions asked once and reported as they came out: no bound holds for them."""


@sync_to_async
def make_projects(place: Path) -> dict[str, UUID]:
    return open_vaults(place, User.objects.create_user("ada").pk)


@pytest.mark.ci
@pytest.mark.django_db(transaction=True)
async def test_the_reader_answers_well_and_invents_little(tmp_path: Path) -> None:
    projects = await make_projects(tmp_path)
    asked = [q for q in read_questions() if q.vault in projects and q.half not in REPORTED]
    found = score([judge(q, await ask_reader(projects[q.vault], q)) for q in asked])
    assert found.right >= 0.85
    assert found.wrong <= 0.05
    assert found.recognised >= 0.95


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
async def test_the_reader_keeps_what_it_learned_of_many_authors(tmp_path: Path) -> None:
    projects = await make_projects(tmp_path)
    asked = [q for q in read_set_questions() if q.vault in projects]
    found = score([judge(q, await ask_reader(projects[q.vault], q)) for q in asked])
    print(f"{len(asked)} questions: {found.right:.3f} {found.wrong:.3f} {found.recognised:.3f}")
    assert found.right >= 0.86
    assert found.wrong <= 0.04
    assert found.recognised >= 0.95


def test_each_author_asked_sixty_questions_of_which_twelve_have_no_answer() -> None:
    sets: dict[str, list[bool]] = {}
    for question in read_set_questions():
        sets.setdefault(question.half, []).append(question.absent)
    assert {(len(absent), sum(absent)) for absent in sets.values()} == {(60, 12)}
    assert len(sets) == 53


def test_the_questions_are_enough_of_each_sort() -> None:
    questions = read_questions()
    assert len(questions) >= 60
    assert sum(question.absent for question in questions) >= 12
    halves = {question.half for question in questions}
    assert halves == {"tuning", "held-out", "fresh", "unseen", *REPORTED}
