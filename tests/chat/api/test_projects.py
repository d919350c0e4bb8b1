"""Projects over the API."""

from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from agents.models import AgentRun, Membership, Project
from agents.projects.queries import Role, get_role
from agents.projects.services import archive_project
from tests.agents.models.factories import run_of
from tests.agents.projects.people import person
from tests.chat.api.api_client import Caller, refusal

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_project_is_created_renamed_archived_deleted_and_restored(ada: Caller) -> None:
    made = await ada("POST", "projects", json={"name": "Loom"})
    assert made.status_code == 201
    here = f"projects/{made.json()['id']}"
    assert (made.json()["slug"], made.json()["role"]) == ("loom", "owner")
    changed = (await ada("PATCH", here, json={"name": "Wheel", "archived": True})).json()
    assert (changed["name"], changed["slug"]) == ("Wheel", "loom")
    assert changed["archived_at"] is not None
    assert (await ada("PATCH", here, json={"archived": False})).json()["archived_at"] is None
    assert (await ada("DELETE", here)).status_code == 204
    refusal(await ada("GET", here), 404)
    deleted = (await ada("GET", "projects", params={"deleted": "true"})).json()["projects"]
    assert [each["name"] for each in deleted] == ["Wheel"]
    assert (await ada("POST", f"{here}/restore")).json()["deleted_at"] is None
    assert (await ada("POST", f"{here}/restore")).status_code == 200
    assert {each["name"] for each in (await ada("GET", "projects")).json()["projects"]} == {
        "Wheel",
        ada.chat.project.name,
    }


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\u0000", "x" * 201, 7, None, "\u202eab"])
async def test_a_name_that_cannot_be_is_refused(ada: Caller, name: object) -> None:
    refusal(await ada("POST", "projects", json={"name": name}), 422)
    assert await Project.objects.acount() == 1


async def test_managing_needs_its_own_scope(ada: Caller) -> None:
    less = await ada.as_scopes("ask", "read", "settings")
    refusal(await less("POST", "projects", json={"name": "Loom"}), 403)
    refusal(await less("GET", f"projects/{ada.chat.project.pk}/members"), 403)
    assert (await less("GET", "projects")).status_code == 200


@sync_to_async
def colleague(ada: Caller, role: Role | None) -> object:
    user = person("bob")
    if role is not None:
        Membership.objects.create(project=ada.chat.project, user=user, role=role)
    return user


CHANGES: list[tuple[str, str, dict[str, object] | None]] = [
    ("PATCH", "", {"name": "Mine"}),
    ("DELETE", "", None),
    ("POST", "/members", {"username": "bob", "role": "owner"}),
    ("PATCH", "/members/1", {"role": "owner"}),
    ("DELETE", "/members/1", None),
    ("GET", "/invitations", None),
    ("POST", "/invitations", {"role": "owner"}),
    ("DELETE", "/invitations/1", None),
]


@pytest.mark.parametrize(("role", "status"), [(Role.MEMBER, 403), (Role.READER, 403), (None, 404)])
async def test_only_owners_change_a_project(ada: Caller, role: Role | None, status: int) -> None:
    bob = await ada.as_user(await colleague(ada, role))  # type: ignore[arg-type]
    before = [row async for row in Membership.objects.values()]
    for method, path, body in CHANGES:
        more = {} if body is None else {"json": body}
        refusal(await bob(method, f"projects/{ada.chat.project.pk}{path}", **more), status)
    assert [row async for row in Membership.objects.values()] == before
    refusal(await bob("POST", f"projects/{ada.chat.project.pk}/restore"), status)


async def test_people_are_added_changed_and_removed(ada: Caller) -> None:
    bob = await sync_to_async(person)("bob")
    there = f"projects/{ada.chat.project.pk}/members"
    added = await ada("POST", there, json={"username": "bob", "role": "reader"})
    assert (added.status_code, added.json()["role"]) == (201, "reader")
    refusal(await ada("POST", there, json={"username": "bob"}), 409)
    (unknown,) = refusal(await ada("POST", there, json={"username": "nobody"}), 409)
    assert unknown["loc"] == ["body", "username"]
    refusal(await ada("POST", there, json={"username": "eve", "role": "king"}), 422)
    changed = await ada("PATCH", f"{there}/{bob.pk}", json={"role": "member"})
    assert changed.json()["role"] == "member"
    assert [each["username"] for each in (await ada("GET", there)).json()["members"]] == [
        "ada",
        "bob",
    ]
    assert (await ada("DELETE", f"{there}/{bob.pk}")).status_code == 204
    refusal(await ada("DELETE", f"{there}/{bob.pk}"), 404)
    refusal(await ada("DELETE", f"{there}/{10**30}"), 404)
    refusal(await ada("DELETE", f"{there}/{ada.user.pk}"), 409)


async def test_a_member_leaves_by_themselves(ada: Caller) -> None:
    user = await colleague(ada, Role.READER)
    bob = await ada.as_user(user)  # type: ignore[arg-type]
    there = f"projects/{ada.chat.project.pk}/members/{bob.user.pk}"
    assert (await bob("DELETE", there)).status_code == 204
    assert await sync_to_async(get_role)(bob.user, ada.chat.project) is None


async def test_a_link_is_told_once_and_taken_back(ada: Caller) -> None:
    there = f"projects/{ada.chat.project.pk}/invitations"
    made = await ada("POST", there, json={"role": "reader"})
    assert made.status_code == 201
    assert made.json()["url"].startswith("https://127.0.0.1/invite/")
    (listed,) = (await ada("GET", there)).json()["invitations"]
    assert listed["role"] == "reader"
    assert "url" not in listed
    assert (await ada("DELETE", f"{there}/{listed['id']}")).status_code == 204
    refusal(await ada("DELETE", f"{there}/{listed['id']}"), 404)
    assert (await ada("GET", there)).json() == {"invitations": []}


async def test_nothing_is_asked_in_an_archived_project(ada: Caller) -> None:
    await sync_to_async(archive_project)(ada.chat.project, by=ada.user)
    (problem,) = refusal(await ada("POST", "oracle", json={"question": "Why?"}), 409)
    assert "archived" in problem["msg"]
    assert not await AgentRun.objects.aexists()


async def test_runs_of_a_project_that_one_left_are_not_there(ada: Caller) -> None:
    run = await sync_to_async(run_of)(ada.user, ada.chat.project)
    assert (await ada("GET", f"oracle/runs/{run.pk}")).status_code == 200
    await Membership.objects.all().adelete()
    refusal(await ada("GET", f"oracle/runs/{run.pk}"), 404)
    refusal(await ada("POST", "oracle", json={"question": "Why?"}), 404)
    refusal(await ada("GET", f"projects/{uuid4()}"), 404)


async def test_conversations_are_listed_of_one_project_or_of_all(ada: Caller) -> None:
    await ada("POST", "oracle", json={"question": "Why?"})
    other = (await ada("POST", "projects", json={"name": "Loom"})).json()["id"]
    for named, count in (
        ({}, 1),
        ({"project": str(ada.chat.project.pk)}, 1),
        ({"project": other}, 0),
    ):
        listed = (await ada("GET", "conversations", params=named)).json()["conversations"]
        assert len(listed) == count
