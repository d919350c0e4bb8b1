"""Every endpoint of the API, called by everybody's programs: nothing leaks, nothing changes."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from chat.api.framework import Endpoint
from chat.api.urls import ENDPOINTS
from tests.access.addresses import CLOSED, STATES, Access, fill, get_values, list_routes, people_in
from tests.access.responses import REFUSED, expect, may_change, read
from tests.access.scene import BEHAVIOUR, RULE, Scene
from tests.chat.factories import browser


@dataclass(frozen=True)
class Call:
    access: Access
    body: dict[str, Any] = field(default_factory=dict)
    query: str = ""
    asks: bool = False
    """Whether it starts a run, which no archived project takes."""


ASK = {"question": "What about the tide?"}
CALLS: dict[str, list[Call]] = {
    "ask_whole": [
        Call(Access.READ, {**ASK, "project": "{project}"}, asks=True),
        Call(Access.AUTHOR, {**ASK, "conversation_id": "{uuid:conversation_id}"}, asks=True),
        Call(Access.AUTHOR, {**ASK, "context_id": "{exchange}"}, asks=True),
        Call(Access.AUTHOR, {**ASK, "context_id": "{uuid:run_id}"}, asks=True),
        Call(Access.AUTHOR, {**ASK, "continued_from": "{uuid:run_id}"}, asks=True),
    ],
    "ask_stream": [Call(Access.READ, {**ASK, "project": "{project}"}, asks=True)],
    "show_run": [Call(Access.AUTHOR)],
    "follow_run": [Call(Access.AUTHOR)],
    "cancel_run": [Call(Access.AUTHOR)],
    "list_projects": [Call(Access.OWN), Call(Access.OWN, query="?deleted=true")],
    "create_project": [Call(Access.OWN, {"name": "New one"})],
    "show_project": [Call(Access.READ)],
    "change_project": [
        Call(Access.MANAGE, {"name": "Another"}),
        Call(Access.MANAGE, {"archived": True}),
    ],
    "delete_project": [Call(Access.MANAGE)],
    "restore_project": [Call(Access.UNDELETE)],
    "list_members": [Call(Access.READ)],
    "add_member": [Call(Access.MANAGE, {"username": "former", "role": "owner"})],
    "change_role": [Call(Access.MANAGE, {"role": "owner"})],
    "remove_member": [Call(Access.MANAGE)],
    "list_invitations": [Call(Access.MANAGE)],
    "create_invitation": [Call(Access.MANAGE, {"role": "owner"})],
    "revoke_invitation": [Call(Access.MANAGE)],
    "search_code": [Call(Access.READ, query="?q=tide&limit=20")],
    "show_code_file": [Call(Access.READ, query="?path=src/tide.py")],
    "find_definitions": [Call(Access.READ, query="?symbol=tide_level")],
    "find_references": [Call(Access.READ, query="?symbol=tide_level")],
    "show_map": [Call(Access.READ)],
    "list_threads": [Call(Access.READ, query="?status=all")],
    "show_thread": [Call(Access.READ)],
    "change_thread": [Call(Access.WRITE, {"status": "archived"})],
    "add_entry": [Call(Access.WRITE, {"content": "mine", "type": "decision"})],
    "delete_entry": [Call(Access.WITHDRAW)],
    "show_approval": [Call(Access.AUTHOR)],
    "decide_approval": [Call(Access.AUTHOR, {"decision": "refused", "digest": "d"})],
    "list_conversations": [Call(Access.OWN)],
    "show_conversation": [Call(Access.AUTHOR)],
    "rename_conversation": [Call(Access.AUTHOR, {"title": "Mine"})],
    "delete_conversation": [Call(Access.AUTHOR)],
    "restore_conversation": [Call(Access.AUTHOR)],
    "export_conversation": [Call(Access.AUTHOR), Call(Access.AUTHOR, query="?format=json")],
    "show_config": [Call(Access.OWN)],
    "replace_config": [Call(Access.OWN)],
    "change_config": [Call(Access.OWN, {"max_iterations": 9})],
    "reset_config": [Call(Access.OWN)],
    "show_models": [Call(Access.OWN)],
    "change_model_settings": [Call(Access.OWN)],
    "list_rules": [Call(Access.OWN)],
    "add_rule": [
        Call(Access.OWN, {"text": RULE}),
        Call(Access.MANAGE, {"text": RULE, "level": "project", "project": "{project}"}),
    ],
    "find_rule_problems": [Call(Access.OWN, {"text": RULE})],
    "try_rule": [Call(Access.OWN, {"text": RULE, "days": 30})],
    "show_rule": [Call(Access.READ)],
    "replace_rule": [Call(Access.MANAGE, {"text": RULE, "version": 1})],
    "set_rule_mode": [Call(Access.MANAGE, {"mode": "off"})],
    "remove_rule": [Call(Access.MANAGE)],
    "show_modes": [Call(Access.OWN)],
    "list_behaviours": [Call(Access.OWN)],
    "add_behaviour": [Call(Access.OWN, {"text": BEHAVIOUR})],
    "find_behaviour_problems": [Call(Access.OWN, {"text": BEHAVIOUR})],
    "try_behaviour": [Call(Access.OWN, {"text": BEHAVIOUR, "run": "{run}"})],
    "show_behaviour": [Call(Access.WRITER)],
    "replace_behaviour": [Call(Access.WRITER, {"text": BEHAVIOUR, "version": 1})],
    "remove_behaviour": [Call(Access.WRITER)],
    "list_notifications": [Call(Access.OWN)],
    "change_notification": [Call(Access.OWN, {"enabled": False})],
    "preview_notification": [Call(Access.OWN)],
    "list_reminders": [Call(Access.OWN)],
    "change_reminders": [Call(Access.OWN, {"enabled": True})],
    "remove_reminder": [Call(Access.AUTHOR)],
    "describe": [Call(Access.PUBLIC)],
}


def test_every_endpoint_is_classified() -> None:
    assert {each.name for each in ENDPOINTS} == set(CALLS), "say in CALLS who may call it"


def test_the_api_has_no_address_that_is_no_endpoint() -> None:
    routes = {each.removeprefix("api/") for each in list_routes() if each.startswith("api/")}
    assert routes == {each.path for each in ENDPOINTS} | {"^"}


@pytest.mark.ci
@pytest.mark.parametrize("state", ["open", *CLOSED])
def test_no_program_gets_or_changes_what_is_not_its_owners(scene: Scene, state: str) -> None:
    problems = []
    for access in STATES[state]:
        with scene.in_state(state):
            before = scene.digest()
            for endpoint, call in list_calls(access):
                for who in people_in(state):
                    problems += list(find_problems(scene, endpoint, call, who, state))
            if scene.digest() != before:
                problems.append(f"{access}: rows were changed by somebody who may not")
    assert problems == []


def list_calls(access: Access) -> Iterator[tuple[Endpoint, Call]]:
    for endpoint in ENDPOINTS:
        for call in CALLS[endpoint.name]:
            if call.access is access:
                yield endpoint, call


def find_problems(
    scene: Scene, endpoint: Endpoint, call: Call, who: str, state: str
) -> Iterator[str]:
    expected = expect(call.access, who, state)
    if who == "anonymous" and call.access is not Access.PUBLIC:
        expected = {401}
    if call.asks and state == "archived" and 200 in expected:
        expected = {409, 403, 404}
    is_undone = may_change(call.access, expected)
    if state == "archived" and expected == REFUSED:
        expected = {403, 409}
    with scene.undone() if is_undone else nullcontext():
        response = send(scene, endpoint, call, who)
        text = read(response)
    if response.status_code not in expected:
        yield f"{who} {endpoint.name} {call.body}: {response.status_code} {text[-200:]}"
    for word in scene.forbidden(who, state):
        if word in text:
            yield f"{who} {endpoint.name}: reads {word}"


def send(scene: Scene, endpoint: Endpoint, call: Call, who: str) -> Any:
    values = get_values(scene, who, endpoint.path)
    if values["int:number"] == "0":
        values["int:number"] = "1"  # the first of something
    there = "/api/" + fill(endpoint.path, values) + call.query
    token = scene.tokens.get(who)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    body = fill(json.dumps(call.body), values, "{}")
    data = {"data": body, "content_type": "application/json"} if endpoint.takes else {}
    return browser().generic(endpoint.method, there, headers=headers, **data)
