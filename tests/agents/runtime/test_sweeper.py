"""Runs of dead processes are ended, those of living ones never, however the database behaves."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from agents.audit.verify import verify_run
from agents.core.config import AgentConfig
from agents.ledger import HeldLease, load_chunks
from agents.models import AgentRun, ProcessLease
from agents.runtime import recovery
from agents.runtime.recovery import Sweeper, describe_silence
from tests.agents.models.factories import ada, dead_process, engine, process, run_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two looks may follow each other at once."""
    monkeypatch.setattr(recovery, "SECOND_LOOK_SECONDS", 0.0)


@pytest.fixture
def own() -> HeldLease:
    lease = HeldLease()
    lease.renew()
    return lease


@pytest.fixture
def sweeper(own: HeldLease) -> Sweeper:
    return Sweeper(own.id, lambda run_id: False)


def run_with(owner: str, **values: object) -> AgentRun:
    user = ada()
    return run_of(user, engine(user), config=AgentConfig().model_dump(), owner=owner, **values)


def fall_silent(owner: str) -> None:
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    ProcessLease.objects.filter(pk=owner).update(renewed_at=long_ago)


def renew(owner: str) -> None:
    """As a process does whose renewal took long: it is counted, and is old all the same."""
    ProcessLease.objects.filter(pk=owner).update(renewals=F("renewals") + 1)


def reason(run: AgentRun) -> str:
    run.refresh_from_db()
    return run.reason


def test_a_run_of_a_process_of_this_host_that_ended_is_settled_at_once(sweeper: Sweeper) -> None:
    run = run_with(dead_process())
    assert sweeper.sweep() == 1
    assert reason(run) == "interrupted"


def test_a_silent_process_loses_its_runs_at_the_second_look(
    own: HeldLease, sweeper: Sweeper
) -> None:
    run = run_with(silent := process())
    assert sweeper.sweep() == 0
    assert not sweeper.has_doubts()
    fall_silent(silent)
    own.renew()
    assert sweeper.sweep() == 0
    assert sweeper.has_doubts()
    own.renew()
    assert sweeper.sweep() == 1
    assert reason(run) == "interrupted"
    assert verify_run(run) is None


def test_a_process_that_renews_between_two_looks_keeps_its_runs(
    own: HeldLease, sweeper: Sweeper
) -> None:
    run = run_with(slow := process())
    fall_silent(slow)
    for _ in range(5):
        assert sweeper.sweep() == 0
        own.renew()
        renew(slow)
    assert reason(run) == ""


def test_looks_while_the_database_stands_still_do_not_count(
    own: HeldLease, sweeper: Sweeper
) -> None:
    """This process could not renew its own lease either: nothing can be held against others."""
    run = run_with(other := process())
    sweeper.sweep()
    fall_silent(other)
    for _ in range(5):
        assert sweeper.sweep() == 0
    own.renew()  # it goes on: this process is the first, and the other one comes just after
    assert sweeper.sweep() == 0
    renew(other)
    own.renew()
    assert sweeper.sweep() == 0
    assert reason(run) == ""


def test_two_looks_at_the_same_moment_are_one(
    own: HeldLease, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "SECOND_LOOK_SECONDS", 3600.0)
    run = run_with(silent := process())
    fall_silent(silent)
    for _ in range(5):
        own.renew()
        assert sweeper.sweep() == 0
    assert reason(run) == ""


@pytest.mark.parametrize("owner", ["", "elsewhere:1:boot"], ids=["nobody", "no lease"])
def test_a_run_whose_owner_has_no_lease_is_settled_at_the_second_look(
    own: HeldLease, sweeper: Sweeper, owner: str
) -> None:
    """The first may have been taken just before a living process stored its lease again."""
    run = run_with(owner)
    assert sweeper.sweep() == 0
    own.renew()
    assert sweeper.sweep() == 1
    assert reason(run) == "interrupted"


def test_a_process_that_is_back_before_its_run_is_taken_keeps_it(own: HeldLease) -> None:
    run = run_with(silent := process())
    renew(silent)
    assert not recovery._recover(run, own.id, renewals=0)
    assert reason(run) == ""
    assert run.fence == 1
    assert recovery._recover(run, own.id, renewals=1)


def test_a_lease_from_before_the_clock_was_set_back_ends_like_any_other(
    own: HeldLease, sweeper: Sweeper
) -> None:
    run = run_with(dead := process())
    ahead = datetime.now(UTC) + timedelta(hours=1)
    ProcessLease.objects.filter(pk=dead).update(renewed_at=ahead)
    assert sweeper.sweep() == 0
    own.renew()
    assert sweeper.sweep() == 1
    assert reason(run) == "interrupted"


def test_of_two_processes_that_see_a_dead_one_only_one_ends_its_run() -> None:
    run = run_with(dead_process())
    sweepers = [Sweeper(f"own{number}", lambda run_id: False) for number in range(2)]
    assert [sweeper.sweep() for sweeper in sweepers] == [1, 0]
    assert reason(run) == "interrupted"
    assert run.fence == 2


def test_leases_of_the_dead_are_deleted_once_none_of_their_runs_remain(
    own: HeldLease, sweeper: Sweeper
) -> None:
    run = run_with(dead := dead_process())
    idle = process("elsewhere")
    fall_silent(idle)
    living = process("another")
    own.renew()
    sweeper.sweep()
    own.renew()
    sweeper.sweep()
    assert reason(run) == "interrupted"
    left = set(ProcessLease.objects.values_list("pk", flat=True))
    assert left == {own.id, living}
    assert dead not in left


# -- stopped while its process was dead -----------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("", "The run was stopped on request."),
        ("The quota is used up.", "Stopped by an administrator: The quota is used up."),
    ],
)
def test_a_run_that_was_to_be_stopped_ends_as_stopped(
    sweeper: Sweeper, note: str, told: str
) -> None:
    asked = {"cancel_requested_at": timezone.now(), "cancel_note": note}
    run = run_with(dead_process(), **asked)
    assert describe_silence(run).endswith("If it does not come back, the run ends as stopped.")
    assert sweeper.sweep() == 1
    assert reason(run) == "user_cancelled"
    assert run.outcome == "cancelled"
    notice, error, done = load_chunks(run.pk)
    assert notice.system_type == "cancelled"  # type: ignore[union-attr]
    assert notice.system_message.startswith(told)  # type: ignore[union-attr]
    assert error.code == "cancelled"  # type: ignore[union-attr]
    assert done.termination_reason == "user_cancelled"  # type: ignore[union-attr]
    assert verify_run(run) is None
    assert describe_silence(run) == ""


def test_a_run_of_a_living_process_is_not_called_silent(own: HeldLease) -> None:
    assert describe_silence(run_with(own.id)) == ""
