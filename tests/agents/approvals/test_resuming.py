"""Whether somebody has agreed already, in a run or in one that it goes on from."""

import pytest
from django.utils import timezone

from agents.approvals.resuming import has_consent
from agents.models import AgentRun, ApprovalRequest
from tests.agents.models.factories import ada, engine, run_of

pytestmark = pytest.mark.django_db


def chain(length: int) -> list[AgentRun]:
    """Runs of which each goes on from the one before it."""
    user = ada()
    project = engine(user)
    runs: list[AgentRun] = []
    for _ in range(length):
        runs.append(run_of(user, project, continued_from=runs[-1] if runs else None))
    return runs


def decide(run: AgentRun, verdict: str) -> None:
    ApprovalRequest.objects.create(
        run=run, asker="tool", verdict=verdict, expires_at=timezone.now()
    )


@pytest.mark.parametrize(
    ("verdict", "agreed"),
    [("approved", True), ("refused", False), ("differently", False), ("", False)],
)
def test_only_a_yes_counts_wherever_it_was_given_in_the_chain(verdict: str, agreed: bool) -> None:
    runs = chain(4)
    decide(runs[1], verdict)
    assert has_consent(runs[3].pk) is agreed
    assert has_consent(runs[1].pk) is agreed
    assert not has_consent(runs[0].pk)


def test_a_run_that_goes_on_from_nothing_has_no_consent() -> None:
    assert not has_consent(None)
