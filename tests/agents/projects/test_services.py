"""Projects are created, renamed, archived, deleted and restored."""

import json
from pathlib import Path

import pytest
from django.utils import timezone

from agents.models import AgentRun, AuditEntry, Project
from agents.projects import services
from agents.projects.errors import InvalidName, ProjectRefused
from agents.projects.queries import Role, get_role, projects_for
from tests.agents.models.factories import run_of
from tests.agents.projects.people import Team, person

pytestmark = pytest.mark.django_db
PAYLOADS = Path(__file__).parents[4] / "shared" / "payloads" / "blns.json"
ODD = [
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "Ω≈ç√∫",
    "田中さん",
    "' OR 1=1 --",
    "👩‍🔬 lab",
]


def test_whoever_creates_a_project_owns_it() -> None:
    ada = person("ada")
    project = services.create_project(ada, "  Our notes ")
    assert (project.name, project.slug) == ("Our notes", "our-notes")
    assert get_role(ada, project) == Role.OWNER
    assert AuditEntry.objects.get().detail["did"] == "create"


def test_slugs_are_unique_on_the_site_and_stay_when_a_project_is_renamed() -> None:
    ada = person("ada")
    first, second = (services.create_project(ada, name) for name in ("Engine", "engine!"))
    assert (first.slug, second.slug) == ("engine", "engine-2")
    services.rename_project(first, "Loom", by=ada)
    assert (Project.objects.get(pk=first.pk).name, first.slug) == ("Loom", "engine")
    assert services.create_project(ada, "Engine").slug == "engine-3"


def test_a_slug_that_somebody_else_takes_meanwhile_is_chosen_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada, real, taken = person("ada"), Project.find_free_slug, []
    services.create_project(ada, "Engine")

    def stale(project: Project) -> str:
        taken.append(project.name)
        return "engine" if len(taken) == 1 else real(project)

    monkeypatch.setattr(Project, "find_free_slug", stale)
    assert services.create_project(ada, "Engine").slug == "engine-2"


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_kept_as_they_are_and_get_a_plain_slug(name: str) -> None:
    project = services.create_project(person("ada"), name)
    assert Project.objects.get().name == name
    assert project.slug.isascii()
    assert set(project.slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.skipif(not PAYLOADS.exists(), reason="the collected payloads are not here")
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.ci)])
def test_every_collected_string_is_a_name_or_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr(services, "MAX_OWNED_PROJECTS", 10_000)
    ada, refusals = person("ada"), []
    for name in json.loads(PAYLOADS.read_text())[::every]:
        try:
            made = services.create_project(ada, name)
        except InvalidName as error:
            refusals.append(str(error))
        else:
            assert Project.objects.get(pk=made.pk).name == made.name
    assert [words for words in refusals if not words.endswith(".")] == []


@pytest.mark.parametrize(
    "name", ["", "   ", "\u200b", "a\nb", "a\0b", "\x1b[31m", "a\u202eb", "\ud800", "x" * 201]
)
def test_names_that_cannot_be_are_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(InvalidName, match=r"\.$"):
        services.create_project(person("ada"), name)
    assert not Project.objects.exists()


def test_nobody_owns_endless_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_OWNED_PROJECTS", 1)
    ada = person("ada")
    project = services.create_project(ada, "One")
    with pytest.raises(ProjectRefused, match="Delete one first"):
        services.create_project(ada, "Two")
    services.delete_project(project, by=ada)
    services.create_project(ada, "Two")


@pytest.mark.parametrize("close", [services.archive_project, services.delete_project])
def test_archiving_and_deleting_end_the_runs_of_everybody_there(close: object) -> None:
    team = Team()
    going = [run_of(user, team.project) for user in (team.bob, team.rae)]
    ended = run_of(team.bob, team.project, outcome="completed", reason="completed")
    elsewhere = run_of(team.bob, services.create_project(team.bob, "Own"))
    close(team.project, by=team.ada)  # type: ignore[operator]
    asked = AgentRun.objects.filter(cancel_requested_at__isnull=False)
    assert {run.pk for run in asked} == {run.pk for run in going}
    assert all("The project was" in run.cancel_note for run in asked)
    assert {ended, elsewhere} == set(AgentRun.objects.filter(cancel_requested_at__isnull=True))


def test_what_was_archived_can_be_taken_out_of_the_archive() -> None:
    team = Team()
    services.archive_project(team.project, by=team.ada)
    services.unarchive_project(team.project, by=team.ada)
    assert Project.objects.get().archived_at is None


def test_undo_gives_a_deleted_project_back_to_everybody() -> None:
    team = Team()
    services.delete_project(team.project, by=team.ada)
    due = services.purge_date(team.project)
    assert due is not None
    assert (due - timezone.now()).days in (29, 30)
    services.restore_project(team.project, by=team.ada)
    assert list(projects_for(team.rae)) == [team.project]


def test_a_purged_project_cannot_be_restored() -> None:
    team = Team()
    Project.objects.filter(pk=team.project.pk).update(name="", deleted_at=timezone.now())
    with pytest.raises(ProjectRefused, match="deleted for good"):
        services.restore_project(team.project, by=team.ada)
