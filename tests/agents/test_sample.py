"""The sample project: notes, threads and code that tell one story."""

from pathlib import Path

import pytest

from agents.models import CodeFile, CodeSymbol, Note, Project, Thread
from agents.projects.errors import ProjectError
from agents.sample import SAMPLE_CODE_FOLDER, create_sample_project
from tests.agents.models.factories import ada as make_ada


def test_the_sample_has_notes_threads_and_code(db: None) -> None:
    project = create_sample_project(make_ada())
    assert Note.objects.filter(project=project, path="decisions/0003-power.md").exists()
    assert Thread.objects.filter(project=project, name="power supply").exists()
    files = CodeFile.objects.filter(project=project)
    shipped = [path for path in SAMPLE_CODE_FOLDER.rglob("*.*") if path.suffix != ".pyc"]
    assert files.count() == len(shipped)
    assert set(files.values_list("reading", flat=True)) == {"parsed"}
    assert CodeSymbol.objects.filter(project=project, name="read_gauge").exists()


def test_what_the_sample_ships_is_packed_with_it() -> None:
    packed = set(SAMPLE_CODE_FOLDER.glob("**/*.[chp]*"))
    shipped = {path for path in SAMPLE_CODE_FOLDER.rglob("*") if path.is_file()}
    assert shipped - packed == set[Path]()


def test_without_its_code_there_is_no_sample_project(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.sample.SAMPLE_CODE_FOLDER", Path(__file__))
    with pytest.raises(ProjectError, match="cannot be read"):
        create_sample_project(make_ada())
    assert not Project.objects.exists()
    assert not Note.objects.exists()
