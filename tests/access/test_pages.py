"""Every page, asked for by everybody in every state of its project: nothing leaks, nothing changes.

An address that is new has to be classified in `addresses.py`.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.access.addresses import (
    ADDRESSES,
    CLOSED,
    STATES,
    Access,
    fill,
    get_values,
    list_routes,
    people_in,
)
from tests.access.responses import FINE, REFUSED, expect, may_change, read
from tests.access.scene import HARBOUR, NAMES, OWN_TABLES, TABLES, Scene, list_models
from tests.support.code import make_zip


def test_every_address_is_classified() -> None:
    """Those of the API and the admin have tables of their own."""
    found = [each for each in list_routes() if not each.startswith(("admin/", "api/"))]
    assert set(found) - set(ADDRESSES) == set(), "say in addresses.py who may ask for it"
    assert set(ADDRESSES) - set(found) == set(), "not there any more"


def test_every_table_is_classified() -> None:
    """Either of a project, and then nobody else's request changes its rows; or of a person."""
    models = list_models()
    with_project = {model._meta.label for model in models if hasattr(model, "project_id")}
    assert {model._meta.label for model in models} == with_project | set(TABLES) | OWN_TABLES


def ask(scene: Scene, route: str, who: str, method: str) -> Any:
    address, values = ADDRESSES[route], get_values(scene, who, route)
    there = "/" + fill(route, values)
    for number in ("versions/2", "restore/1", "withdraw/1"):
        there = there.replace(f"{number[:-1]}0", number)
    given: dict[str, Any] = {
        name: fill(value, values, "{}") for name, value in address.given.items()
    }
    if "upload" in route and method == "post":
        content = make_zip({"up.py": "up = 1"}) if "code" in route else b"u"
        files = {name: SimpleUploadedFile("u.md", content) for name in ("files", "piece")}
        given = {**given, **files, "id": str(uuid4()), "offset": "0"}
    return getattr(scene.browser(who), method)(there, given)


@pytest.mark.early
@pytest.mark.parametrize(
    "state", ["open", *(pytest.param(each, marks=pytest.mark.ci) for each in CLOSED)]
)
def test_nobody_gets_or_changes_what_is_not_theirs(scene: Scene, state: str) -> None:
    assert_nothing_leaks(scene, state, is_own_method=True)


@pytest.mark.ci
def test_nor_by_a_method_that_an_address_has_not(scene: Scene) -> None:
    assert_nothing_leaks(scene, "open", is_own_method=False)


def assert_nothing_leaks(scene: Scene, state: str, is_own_method: bool) -> None:
    """One test for all addresses: to set up the scene takes as long as to ask for many of them."""
    problems = []
    for access in STATES[state]:
        with scene.in_state(state):
            before = scene.digest()
            for route in (each for each in ADDRESSES if ADDRESSES[each].access is access):
                for who in people_in(state):
                    problems += list(find_problems(scene, route, who, state, is_own_method))
            if scene.digest() != before:
                problems.append(f"{access}: rows were changed by somebody who may not")
    assert problems == []


def find_problems(
    scene: Scene, route: str, who: str, state: str, is_own_method: bool
) -> Iterator[str]:
    """What is wrong with the answer that somebody gets from an address."""
    address = ADDRESSES[route]
    expected = expect(address.access, who, state)
    method = "post" if address.post is is_own_method else "get"
    with scene.undone() if may_change(address.access, expected) else nullcontext():
        response = ask(scene, route, who, method)
        text = read(response)
    allowed = expected if is_own_method else {*expected, *FINE, *REFUSED, 405}
    if response.status_code not in allowed:
        yield f"{who} {method} {route}: {response.status_code}"
    shown = NAMES[HARBOUR] if address.access is Access.INVITED else ""
    for word in scene.forbidden(who, state):
        if word in text and word != shown:
            yield f"{who} {method} {route}: reads {word}"
