"""Thirty days after its deletion a project is gone; the record of its runs stays intact."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from agents.models import (
    AgentRun,
    Attachment,
    Membership,
    Note,
    Project,
    SearchDocument,
    SiteSettings,
)
from agents.projects import services
from agents.projects.purge import purge_due_projects
from agents.sample import create_sample_project
from agents.vault.attachments import add_attachment, get_file
from chat.models import Conversation, Exchange
from chat.services import ask
from tests.agents.models.factories import ada as make_ada
from tests.chat.factories import started

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def delete(project: Project, days: float) -> None:
    services.delete_project(project, by=None)
    at = timezone.now() - timedelta(days=days)
    Project.objects.filter(pk=project.pk).update(deleted_at=at)


def asked_in(user: User, project: Project) -> AgentRun:
    exchange = started(ask.start_conversation(user, project.pk, "Where is the harbour?"))
    run = exchange.run
    run.refresh_from_db()
    return run


def test_a_project_with_runs_becomes_a_nameless_row_and_everything_else_goes(
    django_capture_on_commit_callbacks: Any, data_dir: Path
) -> None:
    user = make_ada()
    project, kept = create_sample_project(user), create_sample_project(user)
    run, other = asked_in(user, project), asked_in(user, kept)
    image = add_attachment(project.pk, "a.png", [b"image"])
    (data_dir / "projects" / str(project.pk)).mkdir(parents=True)
    SiteSettings.objects.create(pk=1, default_project=project)
    delete(project, 31)
    with django_capture_on_commit_callbacks(execute=True):
        assert purge_due_projects() == 1
    project.refresh_from_db()
    assert (project.name, project.is_sample) == ("", False)
    assert "tidewatch" not in project.slug
    for rows in (Note, SearchDocument, Attachment, Membership, Conversation):
        assert not rows._base_manager.filter(project=project).exists()
    assert Note.objects.filter(project=kept).exists()
    assert SearchDocument.objects.filter(project=kept).exists()
    assert list(Exchange.all_objects.values_list("run", flat=True)) == [other.pk]
    run.refresh_from_db()
    assert run.is_erased
    assert SiteSettings.load().default_project is None
    assert not get_file(image.sha256).exists()
    assert not (data_dir / "projects" / str(project.pk)).exists()
    assert purge_due_projects() == 0


def test_a_project_without_runs_leaves_no_row() -> None:
    project = create_sample_project(make_ada())
    delete(project, 31)
    purge_due_projects()
    assert not Project.objects.exists()
    assert not SearchDocument.objects.exists()


def test_what_was_deleted_less_than_thirty_days_ago_stays_and_can_be_restored() -> None:
    project = create_sample_project(make_ada())
    delete(project, 29.9)
    assert purge_due_projects() == 0
    services.restore_project(project, by=None)
    assert Note.objects.filter(project=project).exists()


def test_the_command_says_what_it_would_do_and_does_it() -> None:
    delete(create_sample_project(make_ada()), 40)
    out = io.StringIO()
    call_command("purge_projects", "--dry-run", stdout=out)
    assert Project.objects.exists()
    call_command("purge_projects", stdout=out)
    assert out.getvalue().splitlines() == ["1 projects would be purged.", "1 projects purged."]


@pytest.mark.django_db(transaction=True)
def test_the_record_stays_verifiable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("ask", "When did the work begin?")
    project = Project.objects.get()
    delete(project, 31)
    purge_due_projects()
    assert AgentRun.objects.get().question == ""
    call_command("audit_verify")
    assert "1 runs checked: all intact." in capsys.readouterr().out
