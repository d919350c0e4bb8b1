"""A project, and a folder of code to read into it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agents.code.importer import CodeImportReport, import_code
from agents.code.parser_process import ParserProcess
from agents.code.sources import open_code_source
from agents.models import Project
from tests.support.timing import PATIENCE

ReadIn = Callable[..., CodeImportReport]


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(name="gauges")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "gauges"
    root.mkdir()
    return root


@pytest.fixture
def read_in(project: Project, folder: Path) -> ReadIn:
    """Write files into the folder, then read it into the project."""

    def write_and_read(files: dict[str, str] | None = None, **options: str) -> CodeImportReport:
        for path, text in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        with open_code_source(folder) as source, ParserProcess(wait_factor=PATIENCE) as parser:
            return import_code(project.pk, source, **{"parser": parser, **options})  # type: ignore[arg-type]

    return write_and_read
