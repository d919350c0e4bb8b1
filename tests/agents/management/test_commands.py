"""`manage.py runs` and `manage.py cancel`, as a person uses them."""

import asyncio
import json

import pytest
from django.core.management import CommandError, call_command

from tests.agents.models.factories import ada, engine, run_of
from tests.support.commands import Site
from tests.support.runs import served
from tests.support.script import Script, say
from tests.support.timing import PATIENCE


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command of this process prints."""
    capsys.readouterr()
    call_command(*arguments)
    return capsys.readouterr().out


@pytest.mark.django_db(transaction=True)
def test_runs_are_listed_and_one_is_shown_with_all_it_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        call_command("ask", "When did the work begin?")
    listed = said(capsys, "runs").splitlines()
    assert len(listed) == 1
    assert "Completed" in listed[0]
    shown = said(capsys, "runs", listed[0].split()[0][:8])
    assert "vault_search" in shown
    assert "12 January 2026" in shown


@pytest.mark.django_db
def test_a_run_that_ended_for_a_reason_of_a_package_since_removed_is_not_called_running(
    capsys: pytest.CaptureFixture[str],
) -> None:
    user = ada()
    run_of(user, engine(user), outcome="limited", reason="echoed")
    (listed,) = said(capsys, "runs").splitlines()
    assert "echoed" in listed
    assert "Running" not in listed


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["runs", "cancel"])
def test_an_unknown_run_cannot_be_shown_or_cancelled(command: str) -> None:
    with pytest.raises(CommandError, match="There is no run '0badc0de'"):
        call_command(command, "0badc0de")


@pytest.mark.django_db(transaction=True)
def test_a_run_that_has_ended_cannot_be_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("ask", "When did the work begin?")
    short_id = said(capsys, "runs").split()[0]
    with pytest.raises(CommandError, match=r"has ended already \(completed\)"):
        call_command("cancel", short_id)


@pytest.mark.ci
async def test_a_run_is_cancelled_from_another_process(site: Site) -> None:
    async with served(Script([say("word " * 2_000, piece_delay=0.01)])) as bench:
        site.environment["ORACLE_LLM_BASE_URL"] = bench.endpoint.base_url
        process = site.start("ask", "--json", "Why?")
        assert process.stdout is not None
        while '"content"' not in await asyncio.to_thread(process.stdout.readline):
            pass
        listed = await asyncio.to_thread(site.manage, "runs")
        stopped = await asyncio.to_thread(site.manage, "cancel", listed.stdout.split()[0])
        output, errors = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
    assert "is being stopped" in stopped.stdout, stopped.stderr
    assert process.returncode == 130, errors
    assert json.loads(output.splitlines()[-1])["termination_reason"] == "user_cancelled"
