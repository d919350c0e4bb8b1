"""The site's behaviours in the audit: those of the site, and what is wrong with files."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.models import StoredBehaviour
from tests.agents.admin.fixtures import browser
from tests.support.pages import Page

pytestmark = pytest.mark.django_db
TEXT = '(tree "{name}" (repeater :until-success (turn)))'


def test_they_are_listed_without_those_of_people_and_broken_files_are_told(
    tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "behaviours").mkdir()
    (tmp_path / "behaviours" / "broken.lisp").write_text('(tree "broken"\n  (tern))')
    root = User.objects.create_superuser("root")
    for name, whose in (("ours", {"level": "site"}), ("hers", {"level": "own", "user": root})):
        StoredBehaviour.objects.create(name=name, text=TEXT.format(name=name), **whose)
    html = browser(root).get("/admin/agents/storedbehaviour/").content.decode()
    text = Page(html.replace("<!DOCTYPE", "<!doctype", 1)).text()
    assert "ours" in text
    assert "hers" not in text
    assert "File behaviours/broken.lisp:2:3: there is no node 'tern'" in text
