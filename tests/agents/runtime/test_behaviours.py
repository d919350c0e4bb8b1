"""Behaviours of all levels: which somebody can choose, and what becomes of files and rows."""

import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.core.behaviours.shipped import BEHAVIOUR_NAMES
from agents.models import StoredBehaviour
from agents.runtime import find_file_problems, list_behaviours
from tests.agents.models.factories import ada

pytestmark = pytest.mark.django_db
TEXT = '(tree "{name}" :description "{about}" (repeater :until-success (turn)))'
NAMING = '(tree "{name}" (subtree {other}))'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path
    (tmp_path / "behaviours").mkdir()
    return tmp_path / "behaviours"


@pytest.fixture
def user() -> User:
    return ada()


def write(path: Path, text: str) -> None:
    """Replace a file, with another time than before however quick that was."""
    path.write_text(text)
    moment = write.moment = getattr(write, "moment", 1_000_000_000) + 1  # type: ignore[attr-defined]
    os.utime(path, (moment, moment))


def add(name: str, text: str = "", **whose: object) -> None:
    text = text or TEXT.format(name=name, about="")
    StoredBehaviour.objects.create(name=name, text=text, **whose)


def levels(user: User | None) -> dict[str, str]:
    found = {entry.name: entry.level for entry in list_behaviours(user)}
    return {name: level for name, level in found.items() if level not in ("shipped", "package")}


def test_everybody_has_those_that_are_shipped(user: User) -> None:
    names = [entry.name for entry in list_behaviours(user) if entry.level == "shipped"]
    assert tuple(names) == BEHAVIOUR_NAMES


def test_files_rows_of_the_site_and_own_ones_are_there_and_nobody_elses(
    user: User, folder: Path
) -> None:
    other = User.objects.create_user("bob")
    write(folder / "a-file.lisp", TEXT.format(name="a-file", about=""))
    add("of-all", level="site")
    add("mine", level="own", user=user)
    add("his", level="own", user=other)
    assert levels(user) == {"a-file": "file", "of-all": "site", "mine": "own"}
    assert levels(None) == {"a-file": "file", "of-all": "site"}


def test_of_two_with_one_name_the_nearer_one_holds_but_what_is_shipped_stays(
    user: User, folder: Path
) -> None:
    write(folder / "twice.lisp", TEXT.format(name="twice", about=""))
    add("twice", level="site")
    assert levels(user) == {"twice": "site"}
    add("twice", level="own", user=user)
    assert levels(user) == {"twice": "own"}
    add("plan-then-do", level="own", user=user)
    add("quick", level="own", user=user)
    assert levels(user) == {"twice": "own"}


def test_a_file_that_breaks_keeps_its_last_good_version_and_is_told_with_its_place(
    folder: Path,
) -> None:
    write(folder / "mine.lisp", TEXT.format(name="mine", about="First."))
    assert [e.behaviour.description for e in list_behaviours(None) if e.file and e.behaviour] == [
        "First."
    ]
    write(folder / "mine.lisp", '(tree "mine"\n  (repeeter (turn)))')
    assert [e.behaviour.description for e in list_behaviours(None) if e.file and e.behaviour] == [
        "First."
    ]
    (problem,) = find_file_problems()
    assert str(problem).startswith("behaviours/mine.lisp:2:3: there is no node 'repeeter'")
    assert str(problem).endswith("(the version before is in force)")


def test_a_file_is_read_again_when_one_that_it_names_has_changed(folder: Path) -> None:
    write(folder / "inner.lisp", TEXT.format(name="inner", about=""))
    write(folder / "outer.lisp", NAMING.format(name="outer", other="inner"))
    (first,) = (each for each in list_behaviours(None) if each.name == "outer")
    write(folder / "inner.lisp", TEXT.format(name="inner", about="Otherwise."))
    (second,) = (each for each in list_behaviours(None) if each.name == "outer")
    assert first.behaviour is not None
    assert second.behaviour is not None
    assert first.text == second.text
    assert first.behaviour.digest != second.behaviour.digest


@pytest.mark.parametrize(
    ("file", "name", "said"),
    [
        ("other.lisp", "mine", "call it mine.lisp"),
        ("quick.lisp", "quick", "already a mode 'quick'"),
        ("ask-first.lisp", "ask-first", "already a mode 'ask-first'"),
    ],
)
def test_a_file_with_a_name_that_is_taken_or_not_its_own_is_refused(
    folder: Path, file: str, name: str, said: str
) -> None:
    write(folder / file, TEXT.format(name=name, about=""))
    (problem,) = find_file_problems()
    assert said in str(problem)
    assert levels(None) == {}


@pytest.mark.parametrize(
    "hostile", ["(" * 10_000, "\0", "(tree", "x" * 900_000, "\uff08tree\uff09"]
)
def test_hostile_files_are_told_and_harm_nothing(folder: Path, hostile: str) -> None:
    write(folder / "good.lisp", TEXT.format(name="good", about=""))
    write(folder / "odd.lisp", hostile)
    assert levels(None) == {"good": "file"}
    assert {each.path for each in find_file_problems()} == {"behaviours/odd.lisp"}


def test_a_row_that_cannot_be_read_any_more_says_why(user: User) -> None:
    add("mine", NAMING.format(name="mine", other="gone"), level="own", user=user)
    (entry,) = (each for each in list_behaviours(user) if each.name == "mine")
    assert entry.behaviour is None
    assert "there is no behaviour 'gone'" in str(entry.problems[0])
