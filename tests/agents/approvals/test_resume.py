"""Whether somebody has agreed already, in a run or in one that it goes on from."""

import pytest
from django.utils import timezone

from agents.approvals.resume import has_consent
from agents.models import AgentRun, ApprovalRequest
from tests.agents.models.factories import ada, engine, run_of

pytestmark = pytest.mark.django_db
ASKING = ("vault_write", "vault_move")


def chain(length: int) -> list[AgentRun]:
    """Runs of which each goes on from the one before it."""
    user = ada()
    project = engine(user)
    runs: list[AgentRun] = []
    for _ in range(length):
        runs.append(run_of(user, project, continued_from=runs[-1] if runs else None))
    return runs


def decide(run: AgentRun, verdict: str, *tools: str, asker: str = "tool") -> None:
    """Decide about a call of each of these tools; or about a question without calls."""
    asked = ApprovalRequest.objects.create(
        run=run, asker=asker, verdict=verdict, expires_at=timezone.now()
    )
    for order, name in enumerate(tools):
        asked.calls.create(order=order, call_id=f"c{order}", name=name, verdict=verdict)


@pytest.mark.parametrize(
    ("verdict", "agreed"),
    [("approved", True), ("refused", False), ("differently", False), ("", False)],
)
def test_only_a_yes_counts_wherever_it_was_given_in_the_chain(verdict: str, agreed: bool) -> None:
    runs = chain(4)
    decide(runs[1], verdict, "vault_write")
    assert has_consent(runs[3].pk, ASKING) is agreed
    assert has_consent(runs[1].pk, ASKING) is agreed
    assert not has_consent(runs[0].pk, ASKING)


def test_a_yes_to_what_no_tool_has_asked_is_no_consent_for_tools() -> None:
    behaviours, rules, tools = chain(3)
    decide(behaviours, "approved", asker="behaviour")
    decide(rules, "approved", "vault_list", asker="rule")
    decide(tools, "approved", "vault_list", "vault_write", asker="rule")
    found = [has_consent(run.pk, ASKING) for run in (behaviours, rules, tools)]
    assert found == [False, False, True]


def test_a_run_that_goes_on_from_nothing_has_no_consent() -> None:
    assert not has_consent(None, ASKING)


def test_where_no_tool_asks_nobody_is_looked_for() -> None:
    (run,) = chain(1)
    decide(run, "approved", "vault_write")
    assert not has_consent(run.pk, ())
