"""Notes that are rendered as the library shows them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.models import Project
from chat.library.note_page import NotePage, build_note_page
from tests.chat.factories import member

Show = Callable[..., NotePage]


@pytest.fixture
def project(db: None, settings: Any, tmp_path: Path) -> Project:
    settings.DATA_DIR = tmp_path
    return member("ada")[1]


@pytest.fixture
def show(project: Project) -> Show:
    """A text of the project, as a page shows it to somebody who may write."""

    def build(text: str, path: str = "x.md", **where: Any) -> NotePage:
        return build_note_page(project, path, text, **{"can_write": True, **where})

    return build
