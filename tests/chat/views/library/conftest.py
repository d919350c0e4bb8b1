"""A project with a few notes, and people of every role."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Membership, Project
from agents.vault.attachments import add_attachment
from tests.chat.factories import Browser, browser, member
from tests.support.notes import add_note


@dataclass
class Shelf:
    """Ada's project: she owns it, Rea reads it, Eve is a stranger."""

    project: Project
    owner: User
    reader: User
    stranger: User

    @cached_property
    def ada(self) -> Browser:
        return browser(self.owner)

    @cached_property
    def rea(self) -> Browser:
        return browser(self.reader)

    @cached_property
    def eve(self) -> Browser:
        return browser(self.stranger)

    def address(self, rest: str = "") -> str:
        return f"/library/{self.project.slug}/{rest}"


@pytest.fixture
def shelf(db: None, settings: Any, tmp_path: Path) -> Shelf:
    settings.DATA_DIR = tmp_path
    ada, project = member("ada")
    rea = User.objects.create_user("rea")
    Membership.objects.create(project=project, user=rea, role=Membership.Role.READER)
    eve, _ = member("eve")
    add_note(project, "plan/road map.md", "# Road map\n\nFirst *this*, then [[Harbour]].\n")
    add_note(project, "Harbour.md", "The quay is long. #water\n")
    add_attachment(project.pk, "plan.pdf", [b"%PDF"])
    return Shelf(project, ada, rea, eve)
