"""`manage.py approve`: what a paused run asks, shown and decided in a terminal."""

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.utils import timezone

from agents.models import AgentRun, ApprovalRequest, Note
from chat.management.commands import approve
from chat.services.approvals import get_pending
from tests.chat.services.test_approvals import WRITE, Asked
from tests.support.script import say

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def read_page(*arguments: Any, **options: Any) -> str:
    out = StringIO()
    call_command("approve", *map(str, arguments), stdout=out, **options)
    return out.getvalue()


async def test_it_shows_what_waits_with_all_arguments() -> None:
    async with Asked(WRITE) as chat:
        text = await read_page((await chat.begin()).pk)
    assert "May I run this call?" in text
    assert "- vault_write\n    Path: Pumps.md\n    Body: They are red now." in text
    assert "Waiting; it expires on" in text


async def test_what_has_expired_does_not_wait() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        await ApprovalRequest.objects.aupdate(expires_at=timezone.now() - timedelta(days=1))
        text = await read_page(asked.pk)
        assert "Expired on" in text
        assert "Waiting" not in text
        with pytest.raises(CommandError, match="expired on"):
            await read_page(asked.pk, yes=True)


async def test_a_decision_is_prepared_for_the_terminal_and_done_once() -> None:
    async with Asked(WRITE, say("As you like.")) as chat:
        asked = await chat.begin()
        pending = await sync_to_async(get_pending)(chat.user, asked.pk)
        prepared = await sync_to_async(approve._decide)(chat.user, pending, "refused", "")
        run = await chat.start(prepared)
        async for _ in chat.runtime.follow(run.pk):
            pass
        row = await ApprovalRequest.objects.aget(pk=asked.pk)
        assert (row.verdict, row.decided_via) == ("refused", "terminal")
        assert "Refused; it expires on" in await read_page(asked.pk)
        with pytest.raises(CommandError, match="decided already: refused"):
            await read_page(asked.pk, yes=True)
        assert (await Note.objects.aget(path="Pumps.md")).text == "They are blue.\n"


async def test_what_is_not_a_run_or_asked_nothing_is_told() -> None:
    async with Asked(say("So.")) as chat:
        run: AgentRun = await chat.begin()
        with pytest.raises(CommandError, match="has asked nothing"):
            await read_page(run.pk)
        with pytest.raises(CommandError, match="no such"):
            await read_page(uuid4())
        with pytest.raises(CommandError, match="is not the id of a run"):
            await read_page("nonsense")
