"""The command line, as a person uses it: real processes, a database of their own."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import served
from tests.support.script import Fault, Script, call, say, when_tool_free

ROOT = Path(__file__).resolve().parents[3]


class Site:
    """A fresh site in a folder, and its manage.py."""

    def __init__(self, folder: Path, **environment: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ORACLE_")}
        self.environment = {
            **kept,
            "ORACLE_DATA_DIR": str(folder),
            "DJANGO_SETTINGS_MODULE": "oracle_site.settings",
            **environment,
        }

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a site that nobody has used yet."""
    folder = tmp_path_factory.mktemp("migrated")
    made = Site(folder).manage("migrate", "--verbosity", "0")
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture
def site(migrated: Path, tmp_path: Path) -> Site:
    return Site(shutil.copytree(migrated, tmp_path / "data"))


def chunks(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_with_nothing_configured_it_answers_from_the_sample_notes_with_citations(
    site: Site,
) -> None:
    asked = site.manage("ask", "When did the work begin?")
    assert asked.returncode == 0, asked.stderr
    assert "12 January 2026" in asked.stdout
    assert "[index.md:" in asked.stdout
    assert "[completed: completed;" in asked.stdout


def test_runs_are_listed_and_one_is_shown_with_all_it_said(site: Site) -> None:
    site.manage("ask", "When did the work begin?")
    listed = site.manage("runs").stdout.splitlines()
    assert len(listed) == 1
    assert "Completed" in listed[0]
    shown = site.manage("runs", listed[0].split()[0][:8]).stdout
    assert "vault_search" in shown
    assert "12 January 2026" in shown


def test_a_run_can_be_continued(site: Site) -> None:
    first = site.manage("ask", "Who leads the project?")
    run_id = first.stderr.split()[-1]
    again = site.manage("ask", "--continue", run_id, "And how many days per week?")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "max_iterations=0"], "Must be a whole number from 1 to 50. Still using 15."),
        (["--set", "max_iterations"], "give FIELD=VALUE"),
        (["--set", "max_iterations=²"], "give FIELD=VALUE"),
        (["--set", "colour=3"], "There is no such setting"),
        (["--tree", "nonsense"], "There is no tree 'nonsense'. Known: default"),
        (["--user", "nobody"], "There is no user 'nobody'"),
        (["--project", "nothing"], "has no project 'nothing'"),
        (["--continue", "xyz"], "is not the id of a run"),
    ],
)
def test_bad_input_is_one_clear_line(site: Site, arguments: list[str], message: str) -> None:
    refused = site.manage("ask", *arguments, "Why?")
    assert refused.returncode == 1
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_unknown_run_cannot_be_shown_or_cancelled(site: Site) -> None:
    for command in ("runs", "cancel"):
        refused = site.manage(command, "0badc0de")
        assert refused.returncode == 1
        assert "There is no run '0badc0de'" in refused.stderr


async def asked_at(site: Site, script: Script, *arguments: str) -> tuple[int, str, int]:
    """Exit code, output, and requests that a scripted endpoint got."""

    async with served(script) as bench:
        site.environment["ORACLE_LLM_BASE_URL"] = bench.endpoint.base_url
        site.environment["ORACLE_LLM_MODEL"] = "scripted"
        ran = await asyncio.to_thread(site.manage, "ask", *arguments, "Why?")
        return ran.returncode, ran.stdout, len(bench.endpoint.requests)


async def test_json_prints_the_chunks_and_a_limit_holds(site: Site) -> None:
    pages = iter(range(100))
    script = Script(
        then=lambda body: when_tool_free(
            say("Enough."), otherwise=call("calculate", expression=f"1 + {next(pages)}")
        )(body)
    )
    code, output, requests = await asked_at(site, script, "--json", "--set", "max_iterations=3")
    found = chunks(output)
    assert code == 0
    assert requests == 3
    assert [chunk["seq"] for chunk in found] == list(range(1, len(found) + 1))
    assert found[-1]["type"] == "done"
    assert found[-1]["termination_reason"] == "max_iterations"


async def test_what_a_model_writes_cannot_steer_the_terminal(site: Site) -> None:
    code, output, _ = await asked_at(site, Script([say("a\x1b[2Jb \x1b]0;title\x07c")]))
    assert code == 0
    assert "\x1b" not in output
    assert "\x07" not in output


async def test_a_failed_run_exits_with_1(site: Site) -> None:

    code, output, _ = await asked_at(site, Script([Fault("status_401")]))
    assert code == 1
    assert "refused the API key" in output


async def test_ctrl_c_stops_the_run_properly_and_exits_with_130(site: Site) -> None:

    async with served(Script([say("word " * 2_000, piece_delay=0.01)])) as bench:
        site.environment["ORACLE_LLM_BASE_URL"] = bench.endpoint.base_url
        process = site.start("ask", "--json", "Why?")
        assert process.stdout is not None
        while '"content"' not in await asyncio.to_thread(process.stdout.readline):
            pass
        process.send_signal(signal.SIGINT)
        output, errors = await asyncio.to_thread(process.communicate, timeout=30)
        await bench.endpoint.until(lambda: bench.endpoint.aborted == 1)
    assert process.returncode == 130, errors
    assert chunks(output)[-1]["termination_reason"] == "user_cancelled"


def test_a_tree_of_a_package_named_in_the_environment_can_be_chosen(site: Site) -> None:
    site.environment["ORACLE_APPS"] = "docs.examples.two_sources"
    ran = site.manage("ask", "--json", "--tree", "two_sources", "Who leads the project?")
    assert ran.returncode == 0, ran.stderr
    trees = {chunk["tree"] for chunk in chunks(ran.stdout) if chunk["type"] == "decision"}
    assert trees == {"two_sources"}


async def test_a_run_is_cancelled_from_another_process(site: Site) -> None:

    async with served(Script([say("word " * 2_000, piece_delay=0.01)])) as bench:
        site.environment["ORACLE_LLM_BASE_URL"] = bench.endpoint.base_url
        process = site.start("ask", "--json", "Why?")
        assert process.stdout is not None
        while '"content"' not in await asyncio.to_thread(process.stdout.readline):
            pass
        listed = await asyncio.to_thread(site.manage, "runs")
        stopped = await asyncio.to_thread(site.manage, "cancel", listed.stdout.split()[0])
        output, errors = await asyncio.to_thread(process.communicate, timeout=30)
    assert "is being stopped" in stopped.stdout, stopped.stderr
    assert process.returncode == 130, errors
    again = await asyncio.to_thread(site.manage, "cancel", listed.stdout.split()[0])
    assert "has ended already (user_cancelled)" in again.stderr
    assert chunks(output)[-1]["termination_reason"] == "user_cancelled"
