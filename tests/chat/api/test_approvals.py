"""Deciding over the API what a run asks."""

from typing import Any

import pytest

from agents.models import ApprovalRequest, UserAgentConfig
from tests.chat.api.api_client import Caller
from tests.support.script import call, say
from tests.support.tools import FakeTools, returns

pytestmark = pytest.mark.django_db(transaction=True)
WRITE = call("vault_write", path="Pumps.md", body="They are red.\n")


async def ask(ada: Caller) -> dict[str, Any]:
    """A run of somebody who wants to be asked, and what it asks."""
    await UserAgentConfig.objects.aupdate_or_create(
        user=ada.user, defaults={"ask_before_writing": "always"}
    )
    ada.chat.model.steps.append(WRITE)
    run = (await ada("POST", "oracle", json={"question": "Paint the pumps."})).json()
    assert (run["outcome"], run["reason"]) == ("paused", "needs_approval")
    found: dict[str, Any] = (await ada("GET", f"oracle/runs/{run['id']}/approval")).json()
    return found


@pytest.fixture(autouse=True)
def writing_tools(ada: Caller) -> FakeTools:
    tools = FakeTools({"vault_write": returns("Written.", writes=True)})
    ada.chat.world.fakes = tools
    return tools


async def test_what_is_asked_is_told_with_what_would_change(ada: Caller) -> None:
    asked = await ask(ada)
    (held,) = asked["calls"]
    assert (asked["asker"], asked["decision"], asked["continuation"]) == ("tool", "", None)
    assert (held["name"], held["conflict"], held["diff"]) == (
        "vault_write", False, "+They are red.",
    )  # fmt: skip


async def test_a_yes_does_it_and_answers_with_the_run_that_did(
    ada: Caller, writing_tools: FakeTools
) -> None:
    asked = await ask(ada)
    ada.chat.model.steps.append(say("They are red."))
    body = {"decision": "approved", "digest": asked["digest"]}
    run = (await ada("POST", f"oracle/runs/{asked['run']}/approval", json=body)).json()
    assert (run["answer"], run["continued_from"]) == ("They are red.", asked["run"])
    assert len(writing_tools.calls) == 1
    again = await ada("POST", f"oracle/runs/{asked['run']}/approval", json=body)
    assert again.status_code == 409
    assert "decided already: approved" in again.text
    assert len(writing_tools.calls) == 1


async def test_single_calls_are_decided_by_their_ids(ada: Caller, writing_tools: FakeTools) -> None:
    asked = await ask(ada)
    calls = {asked["calls"][0]["id"]: {"decision": "differently", "words": "Green."}}
    body = {"decision": "approved", "digest": asked["digest"], "calls": calls}
    run = (await ada("POST", f"oracle/runs/{asked['run']}/approval", json=body)).json()
    assert run["question"] == "vault_write: Do it differently: Green."
    assert writing_tools.calls == []
    row = await ApprovalRequest.objects.aget(pk=asked["run"])
    assert (row.verdict, row.decided_via) == ("differently", "api")


async def test_a_wrong_digest_and_a_run_that_asked_nothing_are_refused(ada: Caller) -> None:
    asked = await ask(ada)
    body = {"decision": "approved", "digest": "0" * 64}
    wrong = await ada("POST", f"oracle/runs/{asked['run']}/approval", json=body)
    assert (wrong.status_code, "not what is waiting" in wrong.text) == (409, True)
    run = (await ada("POST", "oracle", json={"question": "Why?"})).json()
    assert (await ada("GET", f"oracle/runs/{run['id']}/approval")).status_code == 404
