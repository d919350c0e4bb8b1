"""Pages of projects, as owners, members, readers and strangers see them."""

import pytest

from agents.models import Membership, Note, Project
from agents.projects import services
from agents.projects.queries import Role, get_role, projects_for
from tests.agents.projects.people import Team, person
from tests.chat.factories import Talk, browser
from tests.support.hostile import OURS
from tests.support.pages import problems

pytestmark = pytest.mark.django_db


def test_whoever_is_in_no_project_reads_what_to_do() -> None:
    page = browser(person("new")).get("/", follow=True)
    text = page.content.decode()
    assert page.redirect_chain[-1][0] == "/projects/"
    assert "You are not in any project yet" in text
    assert "Create project" in text
    assert "Add the sample project" in text
    assert problems(text) == []


def test_a_project_is_created_and_opened() -> None:
    user = person("ada")
    client = browser(user)
    page = client.post("/projects/create/", {"name": "My notes"}, follow=True)
    assert [where for where, _ in page.redirect_chain] == ["/p/my-notes/", "/new/"]
    assert "Ask about My notes" in page.content.decode()
    assert get_role(user, Project.objects.get()) == Role.OWNER


def test_a_refused_name_stays_in_the_form_with_the_reason() -> None:
    page = browser(person("ada")).post("/projects/create/", {"name": "a\x1bb"})
    assert page.status_code == 422
    assert "control characters" in page.content.decode()
    assert not Project.objects.exists()


def test_the_sample_is_offered_and_can_be_removed_again() -> None:
    client = browser(person("ada"))
    client.post("/projects/sample/")
    sample = Project.objects.get()
    assert sample.is_sample
    assert Note.objects.filter(project=sample).exists()
    assert "Add the sample project" not in client.get("/projects/").content.decode()
    client.post(f"/p/{sample.slug}/delete/")
    assert "Add the sample project" in client.get("/projects/").content.decode()


@pytest.mark.parametrize("name", OURS)
def test_hostile_names_are_text_on_every_page_or_refused(name: str) -> None:
    user = person("ada")
    client = browser(user)
    answer = client.post("/projects/create/", {"name": name})
    if answer.status_code == 422:
        assert problems(answer.content.decode()) == []
        return
    project = Project.objects.get()
    for address in ("/projects/", "/new/", f"/p/{project.slug}/settings/"):
        assert problems(client.get(address).content.decode()) == []
    services.delete_project(project, by=user)
    assert problems(client.get("/projects/deleted/").content.decode()) == []


def test_the_sidebar_shows_one_project_and_switching_is_remembered() -> None:
    talk = Talk("What is the tide?")
    other = services.create_project(talk.user, "Other")
    client = browser(talk.user)
    page = client.get(f"/c/{talk.id}/").content.decode()
    assert "What is the tide?" in page
    assert f'href="/p/{other.slug}/"' in page
    page = client.get(f"/p/{other.slug}/", follow=True).content.decode()
    assert "Ask about Other" in page
    assert "What is the tide?" not in page
    assert client.get("/", follow=True).redirect_chain[-1][0] == "/new/"
    listed = client.get(f"/conversations/?project={talk.project.pk}").content.decode()
    assert "What is the tide?" in listed
    client.get(f"/c/{talk.id}/")
    assert client.get("/", follow=True).redirect_chain[-1][0] == f"/c/{talk.id}/"


def test_search_is_in_the_project_and_on_demand_in_all() -> None:
    talk = Talk("What is the tide?")
    other = services.create_project(talk.user, "Other")
    client = browser(talk.user)
    link = f'href="/c/{talk.id}/'
    client.get(f"/p/{other.slug}/")
    page = client.get("/search/?q=tide").content.decode()
    assert link not in page
    assert "Search in all your projects" in page
    page = client.get("/search/?q=tide&everywhere=1").content.decode()
    assert link in page
    client.get(f"/p/{talk.project.slug}/")
    assert link in client.get("/search/?q=tide").content.decode()
    assert problems(page) == []


def test_a_project_that_was_left_is_not_gone_back_to() -> None:
    team = Team()
    client = browser(team.bob)
    client.get("/p/engine/")
    Membership.objects.filter(user=team.bob).delete()
    assert client.get("/", follow=True).redirect_chain[-1][0] == "/projects/"


PAGES = ["/p/engine/", "/p/engine/settings/"]
OWNERS_POSTS = {
    "rename": {"name": "New"},
    "archive": {},
    "unarchive": {},
    "delete": {},
    "members/add": {"name": "eve", "role": "owner"},
    "members/role": {"person": "1", "role": "owner"},
    "members/remove": {"person": "1"},
    "links/create": {"role": "owner"},
    "links/revoke": {"link": "1"},
}


@pytest.mark.parametrize("what", OWNERS_POSTS)
@pytest.mark.parametrize(("name", "status"), [("bob", 403), ("rae", 403), ("eve", 404)])
def test_only_owners_change_a_project(what: str, name: str, status: int) -> None:
    team = Team()
    before = list(Membership.objects.values())
    answer = browser(getattr(team, name)).post(f"/p/engine/{what}/", OWNERS_POSTS[what])
    assert answer.status_code == status
    team.project.refresh_from_db()
    assert (team.project.name, team.project.archived_at, team.project.deleted_at) == (
        "Engine",
        None,
        None,
    )
    assert list(Membership.objects.values()) == before


@pytest.mark.parametrize("address", PAGES)
def test_strangers_see_no_page_of_a_project_and_the_signed_out_sign_in(address: str) -> None:
    team = Team()
    assert browser(team.eve).get(address).status_code == 404
    assert browser().get(address).headers["Location"].startswith("/sign-in/")


@pytest.mark.parametrize("name", ["ada", "bob", "rae"])
def test_members_see_who_is_in_and_only_owners_what_can_be_changed(name: str) -> None:
    team = Team()
    text = browser(getattr(team, name)).get("/p/engine/settings/").content.decode()
    assert problems(text) == []
    assert all(other in text for other in ("ada", "bob", "rae"))
    assert ("Delete project" in text) == (name == "ada")
    assert ("Create a link" in text) == (name == "ada")


def test_an_owner_renames_archives_deletes_and_restores() -> None:
    team = Team()
    client = browser(team.ada)
    assert (
        "Loom" in client.post("/p/engine/rename/", {"name": "Loom"}, follow=True).content.decode()
    )
    assert client.post("/p/engine/rename/", {"name": "\n"}).status_code == 422
    client.post("/p/engine/archive/")
    assert "archived" in client.get("/new/").content.decode()
    client.post("/p/engine/unarchive/")
    page = client.post("/p/engine/delete/", follow=True)
    assert page.redirect_chain[-1][0] == "/projects/deleted/"
    assert not projects_for(team.rae).exists()
    assert browser(team.bob).post("/p/engine/restore/").status_code == 404
    client.post("/p/engine/restore/")
    assert list(projects_for(team.rae)) == [team.project]
    assert client.post("/p/engine/restore/").status_code == 404


def test_whoever_is_no_longer_in_a_project_reads_so_instead_of_a_riddle() -> None:
    talk = Talk()
    Membership.objects.all().delete()
    page = browser(talk.user).get(f"/c/{talk.id}/")
    assert page.status_code == 404
    assert "You are no longer in the project of this conversation" in page.content.decode()
    for address in (f"/p/{talk.project.slug}/settings/", f"/library/{talk.project.slug}/"):
        page = browser(talk.user).get(address)
        assert page.status_code == 404
        assert "you are not in it (any more)" in page.content.decode()


def test_a_page_that_is_not_for_ones_role_says_for_whose_it_is() -> None:
    team = Team()
    page = browser(team.rae).post(f"/p/{team.project.slug}/archive/")
    assert page.status_code == 403
    assert "Only an owner of this project can do this." in page.content.decode()


def test_an_owner_says_whether_the_agent_asks_before_it_writes() -> None:
    team = Team()
    client = browser(team.ada)
    page = client.get("/p/engine/settings/").content.decode()
    assert '<option value="never" selected>Never' in page
    assert '<option value="once">Once in a run</option>' in page
    saved = client.post("/p/engine/asking/", {"mode": "once"}, follow=True).content.decode()
    assert "Saved. It applies from the next run on." in saved
    assert '<option value="once" selected>' in saved
    assert Project.objects.get(pk=team.project.pk).ask_before_writing == "once"
    assert client.post("/p/engine/asking/", {"mode": "perhaps"}).status_code == 422
    assert browser(team.bob).post("/p/engine/asking/", {"mode": "never"}).status_code == 403
    assert Project.objects.get(pk=team.project.pk).ask_before_writing == "once"
