"""Questions in readers' own words: how often the right note is among the first."""

from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.search.search import search
from tests.support import retrieval
from tests.support.retrieval import DJANGO, MAX_RANK, Quality, Question

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not retrieval.FOLDER.is_dir(), reason=retrieval.MISSING),
]
MIN_RECALL = 0.60


@pytest.fixture
def questions() -> list[Question]:
    return [question for question in retrieval.read_questions() if question.vault == DJANGO]


@pytest.fixture
def django_docs(db: None, settings: Settings, tmp_path: Path) -> UUID:
    settings.DATA_DIR = tmp_path
    user = User.objects.create_user("ada")
    return retrieval.import_vault(retrieval.unpack_vault(DJANGO, tmp_path), user.pk)


def ask(project_id: UUID, question: str) -> list[str]:
    return [hit.path for hit in search(project_id, [question], limit=MAX_RANK).hits]


def test_whole_questions_find_the_right_page(django_docs: UUID, questions: list[Question]) -> None:
    ours = retrieval.evaluate(questions, partial(ask, django_docs))
    plain = retrieval.evaluate(questions, retrieval.open_plain_fts5(django_docs))
    assert ours.recall(5) >= max(MIN_RECALL, plain.recall(5))
    assert ours.recall(1) > plain.recall(1)


def test_shares_are_counted_by_rank() -> None:
    found = Quality((1, 5, None, 6))
    assert (found.recall(1), found.recall(5), found.recall(10)) == (0.25, 0.5, 0.75)
    assert found.reciprocal_rank == pytest.approx((1 + 1 / 5 + 1 / 6) / 4)
