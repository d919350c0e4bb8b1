"""The question of a paused run: stored with its end, or not at all."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.approvals import load_approval
from agents.models import AgentRun, ApprovalCall, ApprovalRequest, UserAgentConfig
from agents.runtime import Runtime
from agents.settings_service import update_settings
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.script import call
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, returns

pytestmark = pytest.mark.django_db(transaction=True)


async def play(**arguments: Any) -> AgentRun:
    """A run that asks, to its end."""
    request = await asked()
    await sync_to_async(update_settings)(
        UserAgentConfig, request.user, {"ask_before_writing": "always"}
    )
    model = ScriptedModel([call("vault_write", **arguments)])
    tools = FakeTools({"vault_write": returns("Written.", writes=True)})
    async with Runtime(ScriptedRunFactory(model, tools)) as runtime:
        row = await runtime.start(request)
        await followed(runtime, row.pk)
    return await AgentRun.objects.aget(pk=row.pk)


async def test_it_is_stored_with_the_end_of_the_run_and_holds_no_words() -> None:
    run = await play(path="Pumps.md", body="They are red.")
    pending = await sync_to_async(load_approval)(run.pk)
    assert pending is not None
    assert pending.row.is_open
    (held,) = pending.calls
    assert held.arguments == {"path": "Pumps.md", "body": "They are red."}
    assert (held.row.note_version, held.is_as_asked) == (0, True)
    stored = [*(await ApprovalRequest.objects.values().aget()).values()]
    stored += (await ApprovalCall.objects.values().aget()).values()
    assert not any("red" in str(value) or "Pumps" in str(value) for value in stored)
