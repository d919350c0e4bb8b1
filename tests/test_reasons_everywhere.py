"""Every reason, from a real run: chat, audit, API and command line say the same about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from agents.approvals import ApprovalVerdict, load_approval, record_verdict
from agents.audit.verify import verify_run
from agents.core.chunks import ToolCalled
from agents.core.config import AgentConfig
from agents.core.decisions.protocol import TREES
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.ports import ToolRunner
from agents.core.reasons import REASONS
from agents.core.state import AgentState
from agents.ledger import load_run_record
from agents.models import AgentRun, ApprovalState, StoredBehaviour, StoredRule
from agents.runtime import Runtime
from chat.api.serializers import serialize_run
from chat.rendering import thread
from tests.agents.core.loop.test_run import BrokenTools
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.runs import FastClock
from tests.support.script import Fault, Reply, call, say
from tests.support.scripted_model import ModelStep, ScriptedModel
from tests.support.tools import FakeTools, fails, hangs, returns

pytestmark = pytest.mark.django_db(transaction=True)
ANSWER = say("What was found so far.")
ONE_LOOK = """[rule]
id = "one-look"
trigger = "on_turn_end"
[condition]
expression = "history.total_tool_calls >= 1"
[[action]]
type = "stop"
message = "One look is enough."
"""
ASK_FIRST = """[rule]
id = "one-look"
trigger = "on_tool_call"
[[action]]
type = "hold"
message = "May it look?"
"""


@dataclass(frozen=True)
class Way:
    """How a run comes to end for a reason."""

    steps: Sequence[ModelStep]
    then: ModelStep | None = None
    tools: ToolRunner = field(default_factory=lambda: FakeTools({"look": returns("found")}))
    limits: dict[str, int] = field(default_factory=dict)
    is_cancelled: bool = False
    is_stopped: bool = False
    rule: str = ""
    tree: str = ""
    behaviour: str = ""
    """One that asks, and is told no."""


def stops_with(code: str) -> type[DefaultDecisionTree]:
    """Return a tree that stops after the first turn, for this reason."""

    class StopsAtOnce(DefaultDecisionTree):
        def should_continue(self, state: AgentState) -> tuple[bool, str]:
            return (False, code) if state.turn else (True, "")

    return StopsAtOnce


def place(number: int) -> Reply:
    return call("look", place=str(number))


WAYS = {
    "needs_approval": Way([place(1)], rule=ASK_FIRST),
    "declined": Way([], behaviour='(tree "mine" (sequence (approve "May I?") (turn)))'),
    "behaviour_ended": Way([place(1), ANSWER], tree="behaviour_ended"),
    "completed": Way([call("look"), ANSWER]),
    "user_cancelled": Way([call("wait")], tools=FakeTools({"wait": hangs()}), is_cancelled=True),
    "max_iterations": Way([place(1), place(2), ANSWER], limits={"max_iterations": 3}),
    "token_budget": Way([], limits={"token_budget": 1_000}, then=ANSWER),
    "timeout": Way(
        [call("wait"), ANSWER],
        tools=FakeTools({"wait": hangs()}),
        limits={"timeout_seconds": 10},
    ),
    "no_progress": Way([call("look")] * 3 + [ANSWER]),
    "error_limit": Way(
        [place(1), place(2), place(3), ANSWER], tools=FakeTools({"look": fails("No such place.")})
    ),
    "output_truncated": Way([say("It goes on and", finish="length")]),
    "content_filter": Way([say("It is", finish="content_filter")]),
    "empty_answer": Way([say(""), say("")]),
    "provider_error": Way([Fault("status_401")]),
    "rule_stopped": Way([place(1), place(2), ANSWER], rule=ONE_LOOK),
    "interrupted": Way([call("wait")], tools=FakeTools({"wait": hangs()}), is_stopped=True),
    "internal_error": Way([call("look")], tools=BrokenTools(writes_at=1)),
}


def say_no(asked_by: UUID, run: AgentRun) -> None:
    pending = load_approval(asked_by)
    assert pending is not None
    assert run.user is not None
    verdict = ApprovalVerdict(verdict=ApprovalState.REFUSED, digest=pending.row.digest)
    record_verdict(pending, verdict, by=run.user, via="page", run=run)


def ended(way: Way) -> AgentRun:
    async def run() -> AgentRun:
        config = AgentConfig(**way.limits)
        question = "Why? " * 900 if "token_budget" in way.limits else "Why?"
        tree = "mine" if way.behaviour else way.tree or "default"
        request = await asked(question, config=config, tree=tree)
        if way.behaviour:
            await StoredBehaviour.objects.acreate(
                level="own", user=request.user, name="mine", text=way.behaviour
            )
        if way.rule:
            await StoredRule.objects.acreate(
                level="own", user=request.user, name="one-look", text=way.rule
            )
        model = ScriptedModel(way.steps, then=way.then)
        async with Runtime(ScriptedRunFactory(model, way.tools), FastClock()) as runtime:
            row = await runtime.start(request)
            if way.behaviour:
                await followed(runtime, row.pk)
                row = await runtime.start(
                    replace(request, continued_from=row.pk), partial(say_no, row.pk)
                )
            if way.is_cancelled or way.is_stopped:
                async for chunk in runtime.follow(row.pk):
                    if isinstance(chunk, ToolCalled) and chunk.tool_call.status == "running":
                        break
            if way.is_cancelled:
                await runtime.cancel(row.pk)
            if not way.is_stopped:
                await followed(runtime, row.pk)
        return await AgentRun.objects.select_related("user", "project").aget(pk=row.pk)

    return async_to_sync(run)()


def test_there_is_a_way_to_every_reason() -> None:
    assert set(WAYS) == {code for code, _ in REASONS}


@pytest.mark.parametrize("code", WAYS)
def test_a_reason_reads_the_same_everywhere(
    code: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if tree := WAYS[code].tree:
        monkeypatch.setitem(TREES._entries, tree, stops_with(code))
    run = ended(WAYS[code])
    reason = REASONS.get(code)
    assert (run.reason, run.outcome) == (code, reason.outcome.value)
    assert verify_run(run) is None
    record = load_run_record(run.pk)
    why = serialize_run(run, record).why
    assert why is not None
    assert (why.label, why.sentence, why.remedy) == (reason.label, reason.sentence, reason.remedy)
    call_command("runs", str(run.pk))
    printed = capsys.readouterr().out
    for words in (in_chat(run), in_the_audit(run), printed):
        for part in (reason.label, reason.sentence, reason.remedy):
            assert part in words or (words is printed and code == "completed")
    assert f"\n{reason.label}: " in printed
    badge = f'class="badge {reason.outcome.value}"'
    assert badge in in_chat(run)
    assert badge in in_the_audit(run)


def in_chat(run: AgentRun) -> str:
    return unescape(thread.get_rendered_answer(run).html)


def in_the_audit(run: AgentRun) -> str:
    client = Client()
    admin, _ = User.objects.get_or_create(username="root", is_staff=True, is_superuser=True)
    client.force_login(admin)
    page = client.get(reverse("admin:agents_agentrun_change", args=[run.pk]), secure=True)
    assert page.status_code == 200
    return unescape(page.content.decode())
