"""The row by which a process owns its runs: renewed apart from everything, by one clock."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from agents.ledger import leases
from agents.ledger.leases import HeldLease, is_silent, read_leases
from agents.models import ProcessLease
from tests.agents.models.factories import NO_SUCH_PID, dead_process, process
from tests.support.timing import PATIENCE, look_again

pytestmark = pytest.mark.django_db(transaction=True)
HOST = socket.gethostname()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(leases, "RETRY_SECONDS", 0.01)


@pytest.fixture
def held() -> Iterator[HeldLease]:
    lease = HeldLease()
    lease.start()
    yield lease
    lease.close()


def eventually(holds: Callable[[], bool]) -> None:
    assert any(holds() for _ in look_again())


def renewals(lease: HeldLease) -> int:
    found = read_leases().get(lease.id)
    return found.renewals if found is not None else -1


def test_a_lease_is_renewed_until_it_is_closed_and_then_it_is_gone(held: HeldLease) -> None:
    eventually(lambda: renewals(held) >= 3)
    held.close()
    assert renewals(held) == -1


def test_a_lease_that_another_process_deleted_is_there_again(held: HeldLease) -> None:
    eventually(lambda: renewals(held) >= 3)
    ProcessLease.objects.all().delete()
    eventually(lambda: renewals(held) >= 0)


def test_a_lease_goes_on_when_its_connection_breaks(
    held: HeldLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = held.renew, threading.Event()

    def renew() -> None:
        if not broken.is_set():
            broken.set()
            connection.close()
            with connection.cursor() as cursor:
                cursor.execute("SELECT there_is_no_such_function()")
        real()

    monkeypatch.setattr(held, "renew", renew)
    assert broken.wait(PATIENCE)
    before = renewals(held)
    eventually(lambda: renewals(held) >= before + 3)


def test_the_clock_of_a_process_says_nothing_about_leases(
    held: HeldLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only that of the database does: a minute too early or too late changes nothing."""
    real = timezone.now
    for shift in (-60, 60):
        monkeypatch.setattr(timezone, "now", lambda s=shift: real() + timedelta(seconds=s))
        held.renew()
        found = read_leases()[held.id]
        assert not found.is_stale
        assert abs(found.age) < timedelta(seconds=30)


def rest(seconds: float, **values: object) -> str:
    """A process that was last heard of so long ago."""
    lease = process(**values)  # type: ignore[arg-type]
    ProcessLease.objects.filter(pk=lease).update(
        renewed_at=datetime.now(UTC) - timedelta(seconds=seconds)
    )
    return lease


@pytest.mark.parametrize(
    ("seconds", "is_stale"),
    [(0, False), (20, False), (100, True), (-100, True)],
    ids=["now", "20 s ago", "100 s ago", "before the clock was set back"],
)
def test_a_lease_is_stale_by_its_age(seconds: float, is_stale: bool) -> None:
    lease = rest(seconds)
    assert read_leases()[lease].is_stale == is_stale


def test_a_process_of_this_host_is_gone_when_its_pid_is_free_or_another_process_has_it() -> None:
    ours = HeldLease()
    ours.renew()
    free, reused, elsewhere = dead_process(), process(HOST, os.getpid()), process(pid=NO_SUCH_PID)
    ProcessLease.objects.filter(pk=reused).update(started="in an earlier life")
    found = read_leases()
    gone = {name: lease.is_gone for name, lease in found.items()}
    assert gone == {ours.id: False, free: True, reused: True, elsewhere: False}
    assert all(is_silent(name) == is_gone for name, is_gone in gone.items())
    assert is_silent("nobody")
    assert is_silent(rest(20, host="quiet"))


RENAMED = """
import pathlib, sys
pathlib.Path("/proc/self/comm").write_bytes(b"serv\\xc3 (1) Z")
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_process_may_have_any_name() -> None:
    command = [sys.executable, "-c", RENAMED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as renamed:
        assert renamed.stdout is not None
        renamed.stdout.readline()
        named = process(HOST, renamed.pid)
        assert not read_leases()[named].is_gone
        ProcessLease.objects.filter(pk=named).update(started="in an earlier life")
        assert read_leases()[named].is_gone
        renamed.communicate()


IDENTITY = """
import django, json
django.setup()
from agents.ledger.leases import describe_process
print(json.dumps(describe_process()))
"""


def test_of_a_process_in_another_namespace_only_the_age_tells() -> None:
    for pid in (os.getpid(), NO_SUCH_PID):
        other = process(HOST, pid)
        ProcessLease.objects.filter(pk=other).update(pid_namespace="another", started="then")
        assert not read_leases()[other].is_gone


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare")
def test_a_container_of_the_same_host_name_is_in_another_namespace() -> None:
    container = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*container, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace can be made here")
    described = subprocess.run(
        [*container, sys.executable, "-c", IDENTITY], capture_output=True, text=True, check=True
    )
    identity = json.loads(described.stdout)
    assert (identity["host"], identity["pid"]) == (HOST, 1)
    ProcessLease.objects.create(pk="container", renewed_at=timezone.now(), **identity)
    assert not read_leases()["container"].is_gone


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="a connection of PostgreSQL")
@pytest.mark.skipif(sys.platform != "linux", reason="TCP_USER_TIMEOUT")
def test_a_connection_is_given_up_when_nobody_receives_what_it_sends() -> None:
    connection.ensure_connection()
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as tcp:
        assert tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
        assert tcp.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 5
