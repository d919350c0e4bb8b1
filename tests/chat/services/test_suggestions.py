"""The questions of an empty page: about this project, and the embedded reader answers each."""

from pathlib import Path
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.models import Project
from agents.vault.author import Author
from agents.vault.project_notes import ProjectNotes
from chat.services.suggestions import suggest_questions
from tests.support.reader_questions import ReaderQuestion, ask_reader, judge, open_vaults

LONG = "The kite flies over the beach when the wind is right. " * 5


def make_project(*paths: str) -> UUID:
    project = Project.objects.create(name="kites", slug="kites")
    notes = ProjectNotes(project.pk, Author.importer())
    for path in paths:
        notes.write(path, f"# About {Path(path).stem}\n\n{LONG}")
    return project.pk


@pytest.mark.django_db
def test_a_project_without_notes_suggests_nothing() -> None:
    assert suggest_questions(make_project()) == []


@pytest.mark.django_db
def test_questions_come_from_folders_and_titles() -> None:
    project_id = make_project("index.md", "kites/red.md", "kites/blue.md", "Templates/kite.md")
    assert suggest_questions(project_id) == [
        "What is About index about?",
        "Which kites are there?",
        "Summarise “About blue”.",
    ]


@sync_to_async
def list_suggestions(place: Path) -> list[tuple[UUID, str]]:
    projects = open_vaults(place, User.objects.create_user("ada").pk).values()
    return [(id, question) for id in projects for question in suggest_questions(id)]


@pytest.mark.ci
@pytest.mark.django_db(transaction=True)
async def test_the_embedded_reader_answers_every_suggestion(tmp_path: Path) -> None:
    asked = await list_suggestions(tmp_path)
    assert len(asked) >= 6
    for project_id, text in asked:
        question = ReaderQuestion("", "", text)
        answer = await ask_reader(project_id, question)
        assert judge(question, answer) == "right", f"{text}\n{answer}"
        assert "[" in answer
