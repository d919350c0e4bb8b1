"""Who may: tokens, scopes, what is somebody else's."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents.models import ApiToken, Invitation, Membership, Project
from agents.models.api_tokens import Scope
from agents.projects.invitations import create_invitation
from chat.api import runs
from chat.api.urls import ENDPOINTS
from tests.chat.api.api_client import CONFIG, Caller, refusal
from tests.chat.factories import member

pytestmark = pytest.mark.django_db(transaction=True)
GUARDED = [each for each in ENDPOINTS if each.scopes]


BODIES = {
    "change_notification": {"enabled": False},
    "decide_approval": {"decision": "approved", "digest": "x"},
    "replace_behaviour": {"text": "x", "version": 1},
    "replace_rule": {"text": "x", "version": 1},
    "set_rule_mode": {"mode": "off"},
    "add_member": {"username": "eve", "role": "owner"},
    "change_role": {"role": "owner"},
    "change_project": {"name": "x"},
    "change_thread": {"status": "archived"},
    "add_entry": {"content": "x"},
    "create_invitation": {"role": "owner"},
    "rename_conversation": {"title": "x"},
}
QUERIES = {
    "search_code": {"q": "a"},
    "show_code_file": {"path": "a"},
    "find_definitions": {"symbol": "a"},
    "find_references": {"symbol": "a"},
}
"""Of those that need one."""
"""What is sent to addresses of one thing that take a body."""


def address(path: str, **known: object) -> str:
    """Of known things; of things that do not exist where none is known."""
    nothing = {"uuid": str(uuid4()), "int": "999999", "str": "nothing"}
    return re.sub(r"<(\w+):(\w+)>", lambda at: str(known.get(at[2], nothing[at[1]])), path)


def invite(project_id: str) -> Invitation:
    project = Project.objects.get(pk=project_id)
    return create_invitation(project, Membership.Role.READER, by=None)[0]


def list_project_rows() -> list[Any]:
    """Everything about projects that a request could have changed."""
    return [list(rows.objects.values()) for rows in (Project, Membership, Invitation)]


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer x", "Basic YTpi", "Bearer a, Bearer b", "Bearer " + "x" * 5_000,
     "oracle_x", "Bearer \xff\xfe"],
)  # fmt: skip
async def test_without_a_good_token_nothing_is_answered(ada: Caller, header: str) -> None:
    headers = {b"Authorization": header.encode("latin-1")} if header else {}
    for each in GUARDED:
        response = await ada.http.request(each.method, address(each.path), headers=headers)
        refusal(response, 401)
        assert response.headers["www-authenticate"].startswith('Bearer realm="oracle"')


async def test_a_revoked_token_is_no_token(ada: Caller) -> None:
    assert (await ada("GET", CONFIG)).status_code == 200
    await sync_to_async(ada.row.revoke)()
    (problem,) = refusal(await ada("GET", CONFIG), 401)
    assert "revoked" in problem["msg"]


async def test_a_token_of_somebody_who_was_deactivated_is_none(ada: Caller) -> None:
    await User.objects.filter(pk=ada.user.pk).aupdate(is_active=False)
    refusal(await ada("GET", CONFIG), 401)


async def test_a_token_may_do_what_its_scopes_say_and_nothing_else(ada: Caller) -> None:
    for scope in Scope.values:
        less = await ada.as_scopes(scope)
        for each in GUARDED:
            response = await less(each.method, address(each.path))
            if scope in each.scopes:
                assert response.status_code not in (401, 403), (scope, each.name)
            else:
                refusal(response, 403)
                assert 'error="insufficient_scope"' in response.headers["www-authenticate"]


async def test_a_session_is_no_token_and_needs_no_csrf_token(ada: Caller) -> None:
    @sync_to_async
    def by_cookie() -> int:
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(ada.user)
        return browser.patch("/api/settings/agent-config", {}, secure=True).status_code

    assert await by_cookie() == 401


async def test_it_is_known_when_a_token_was_last_used(ada: Caller) -> None:
    await ada("GET", CONFIG)
    row = await ApiToken.objects.aget(pk=ada.row.pk)
    assert row.last_used_at is not None
    assert timezone.now() - row.last_used_at < timedelta(minutes=1)


async def test_what_is_somebody_elses_is_as_what_does_not_exist(ada: Caller) -> None:
    made = (await ada("POST", "oracle", json={"question": "What is it?"})).json()
    eve, _ = await sync_to_async(member)("eve")
    stranger = await ada.as_user(eve)
    invitation = await sync_to_async(invite)(made["project_id"])
    before, project_rows = await ada.stored(), await sync_to_async(list_project_rows)()
    ids = {
        "run_id": made["id"],
        "conversation_id": made["conversation_id"],
        "project_id": made["project_id"],
        "user_id": ada.user.pk,
        "invitation_id": invitation.pk,
    }
    for each in GUARDED:
        if "<" not in each.path:
            continue
        body = {"json": BODIES[each.name]} if each.takes else {"params": QUERIES.get(each.name)}
        theirs = address(each.path, **ids)
        got = await stranger(each.method, theirs, **body)
        nothing = await stranger(each.method, address(each.path), **body)
        assert refusal(got, 404) == refusal(nothing, 404)
    for name in ("conversation_id", "context_id", "continued_from", "project"):
        value = made.get(name) or (made["project_id"] if name == "project" else made["id"])
        for known in (value, str(uuid4())):
            asked = {"question": "Theirs?", name: known}
            refusal(await stranger("POST", "oracle", json=asked), 404)
    assert await ada.stored() == before
    assert await sync_to_async(list_project_rows)() == project_rows
    assert (await stranger.stored())[2:] == [[], []]


async def test_whoever_left_a_project_sees_nothing_of_it(ada: Caller) -> None:
    made = (await ada("POST", "oracle", json={"question": "What is it?"})).json()
    await Membership.objects.all().adelete()
    refusal(await ada("GET", f"oracle/runs/{made['id']}"), 404)
    refusal(await ada("GET", f"oracle/runs/{made['id']}/stream"), 404)
    refusal(await ada("GET", f"conversations/{made['conversation_id']}"), 404)
    (problem,) = refusal(await ada("POST", "oracle", json={"question": "Still?"}), 404)
    assert "no project" in problem["msg"]


async def test_a_message_sent_before_does_not_open_a_project_that_was_left(ada: Caller) -> None:
    asked = {"question": "What is it?", "client_message_id": "abc"}
    await ada("POST", "oracle", json=asked)
    other = await Project.objects.acreate(name="another")
    await Membership.objects.all().adelete()
    await Membership.objects.acreate(project=other, user=ada.user)
    for path in ("oracle", "oracle/stream"):
        refusal(await ada("POST", path, json=asked), 404)


async def test_what_took_a_while_is_not_told_to_a_token_that_was_revoked(
    ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runs.wait_until_ended

    async def ended(run_id: UUID) -> None:
        await real(run_id)
        await sync_to_async(ada.row.revoke)()

    monkeypatch.setattr(runs, "wait_until_ended", ended)
    refusal(await ada("POST", "oracle", json={"question": "What is it?"}), 401)


async def test_a_token_is_not_taken_over_plain_http(ada: Caller) -> None:
    there = f"http://127.0.0.1/api/{CONFIG}"
    (problem,) = refusal(await ada("GET", there), 403)
    assert "HTTPS" in problem["msg"]


async def test_another_host_is_refused(ada: Caller) -> None:
    refusal(await ada("GET", f"https://evil.example/api/{CONFIG}"), 400)
