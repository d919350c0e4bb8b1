"""A project, and who changes its notes."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.models import Project
from agents.vault.author import Author


@pytest.fixture(autouse=True)
def data_folder(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return tmp_path / "data"


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(name="harbour")


@pytest.fixture
def author(db: None) -> Author:
    return Author.person(User.objects.create(username="ada").pk)
