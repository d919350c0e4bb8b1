"""`manage.py search`, as a person uses it."""

import json

import pytest
from django.core.management import CommandError, call_command

from agents.management.lookup import find_or_create_project, find_user
from agents.models import Project
from agents.vault import notes
from agents.vault.author import Author


@pytest.fixture
def harbour(db: None) -> Project:
    user = find_user(None)
    project = find_or_create_project("Harbour", user)
    for path, text in {
        "Quay.md": "# Quay\n## Works\nThe \x1b[31mquay.",
        "Crane.md": "A crane.",
    }.items():
        notes.create_note(project.pk, path, text, Author.person(user.pk))
    return project


def say(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[str], str]:
    capsys.readouterr()
    call_command("search", *arguments)
    printed = capsys.readouterr()
    return printed.out.splitlines(), printed.err


def test_each_hit_is_one_line(harbour: Project, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = say(capsys, "quay", "crane", "--project", "Harbour")
    assert sorted(line.split()[0] for line in lines) == ["Crane.md:1", "Quay.md:3"]
    assert "\x1b" not in "".join(lines)


def test_json_has_all_of_a_hit(harbour: Project, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = say(capsys, "quay", "--json", "--limit", "1")
    hit = json.loads(lines[0])
    assert (hit["path"], hit["heading"]) == ("Quay.md", "Works")
    assert (hit["first_line"], hit["last_line"], hit["line"]) == (1, 3, 3)


def test_words_that_are_nowhere_are_told(
    harbour: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, errors = say(capsys, "money quay")
    assert len(lines) == 1
    assert "No note has: money" in errors


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a", "b", "c", "d", "e"], "1 to 4 queries"),
        (["quay", "--limit", "0"], "1 to 100"),
        (["quay", "--project", "Elsewhere"], "no project"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    harbour: Project, arguments: list[str], why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        call_command("search", *arguments)
