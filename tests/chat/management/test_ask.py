"""`manage.py ask`, as a person uses it: in processes with a database of their own where exit codes,
signals or the environment are the point, else in this one."""

import asyncio
import json
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pytest_django import Settings

from bench import transcript
from tests.support.commands import Site
from tests.support.runs import served
from tests.support.script import Fault, Script, call, say, when_tool_free
from tests.support.threaded_endpoint import Stage
from tests.support.timing import PATIENCE


def chunks(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.ci
def test_with_nothing_configured_it_answers_from_the_sample_notes_with_citations(
    site: Site,
) -> None:
    asked = site.manage("ask", "When did the work begin?")
    assert asked.returncode == 0, asked.stderr
    assert "12 January 2026" in asked.stdout
    assert "[index.md:" in asked.stdout
    assert "\nCompleted: " in asked.stdout


@pytest.mark.django_db(transaction=True)
def test_the_question_that_make_ask_asks_is_answered_wholly_and_to_the_point(
    capsys: pytest.CaptureFixture[str],
) -> None:
    makefile = (settings.BASE_DIR / "Makefile").read_text()
    (question,) = re.findall(r"manage\.py ask .*\{Q:-(.+?)\}", makefile)
    assert " and " in question
    with pytest.raises(SystemExit) as left:
        call_command("ask", "--json", question)
    assert left.value.code == 0
    told = chunks(capsys.readouterr().out)
    answer = "".join(chunk["content"] for chunk in told if chunk["type"] == "content")
    assert told[-1]["termination_reason"] == "completed"
    assert "Work began on 12 January 2026. [index.md:10]" in answer
    assert "Mara Lindqvist · role: project lead" in answer
    assert "Nothing in the notes answers" not in answer
    assert set(re.findall(r"\[([^\[\]:]+):\d+\]", answer)) == {"index.md", "people.md"}
    assert answer.count("\n- ") <= 3


@pytest.mark.ci
def test_the_sample_answers_from_a_note_a_thread_and_a_line_of_code(site: Site) -> None:
    asked = site.manage(
        "ask",
        "Which decisions did we take about power, and where is the reading of the gauge "
        "implemented?",
    )
    assert asked.returncode == 0, asked.stderr
    assert "[decisions/0003-power.md:14]" in asked.stdout
    assert "[thread:power supply#3]" in asked.stdout
    assert "[firmware/src/gauge.c:35]" in asked.stdout


@pytest.mark.django_db(transaction=True)
def test_a_run_is_named_at_the_end_so_that_it_can_be_continued(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        call_command("ask", "Who leads the project?")
    run_id = capsys.readouterr().err.split()[-1]
    with pytest.raises(SystemExit) as left:
        call_command("ask", "--continue", run_id, "And how many days per week?")
    assert left.value.code == 0


@pytest.mark.django_db(transaction=True)
def test_the_readme_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("ask", *transcript.OPTIONS, "--", transcript.QUESTION)
    printed = transcript.format_transcript(capsys.readouterr().out)
    shown = transcript.README.read_text(encoding="utf-8").split(transcript.BEGIN)[1]
    assert without_measures(shown.split(transcript.END)[0]) == without_measures(printed)


def without_measures(text: str) -> list[str]:
    """The lines but for results, which come in any order, and without tokens and seconds."""
    kept = [line for line in text.splitlines() if not line.startswith("  ok after")]
    return [re.sub(r"[\d.,]+ of (?=50,000|120)", "", line) for line in kept]


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
@pytest.mark.django_db(transaction=True)
def test_bad_input_is_refused_in_words(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        call_command("ask", *arguments, "Why?")


@pytest.fixture
def stage(settings: Settings, transactional_db: None) -> Iterator[Stage]:
    """The model of this process's site."""
    with Stage() as made:
        settings.ORACLE_LLM_BASE_URL, settings.ORACLE_LLM_MODEL = made.base_url, "scripted"
        yield made


def test_json_prints_the_chunks_and_a_limit_holds(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = iter(range(100))
    script = Script(
        then=lambda body: when_tool_free(
            say("Enough."), otherwise=call("calculate", expression=f"1 + {next(pages)}")
        )(body)
    )
    stage.play("scripted", script)
    with pytest.raises(SystemExit) as left:
        call_command("ask", "--json", "--set", "max_iterations=3", "Why?")
    found = chunks(capsys.readouterr().out)
    assert left.value.code == 0
    assert len(stage.requests("scripted")) == 3
    assert [chunk["seq"] for chunk in found] == list(range(1, len(found) + 1))
    assert found[-1]["type"] == "done"
    assert found[-1]["termination_reason"] == "max_iterations"


def test_what_a_model_writes_cannot_steer_the_terminal(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.play("scripted", Script([say("a\x1b[2Jb \x1b]0;title\x07c")]))
    with pytest.raises(SystemExit) as left:
        call_command("ask", "Why?")
    output = capsys.readouterr().out
    assert left.value.code == 0
    assert "\nCompleted: " in output
    assert "\x1b" not in output
    assert "\x07" not in output


def test_a_failed_run_exits_with_1(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.play("scripted", Script([Fault("status_401")]))
    with pytest.raises(SystemExit) as left:
        call_command("ask", "Why?")
    assert left.value.code == 1
    assert "refused the API key" in capsys.readouterr().out


def test_a_run_that_waits_for_a_yes_exits_with_3(stage: Stage) -> None:
    stage.play("scripted", Script([say("Paint it red.")]))
    with pytest.raises(SystemExit) as left:
        call_command("ask", "Why?", "--tree", "ask-first")
    assert left.value.code == 3


@pytest.mark.ci
async def test_ctrl_c_stops_the_run_properly_and_exits_with_130(site: Site) -> None:

    async with served(Script([say("word " * 2_000, piece_delay=0.01)])) as bench:
        site.environment["ORACLE_LLM_BASE_URL"] = bench.endpoint.base_url
        process = site.start("ask", "--json", "Why?")
        assert process.stdout is not None
        while '"content"' not in await asyncio.to_thread(process.stdout.readline):
            pass
        process.send_signal(signal.SIGINT)
        output, errors = await asyncio.to_thread(process.communicate, timeout=PATIENCE)
        await bench.endpoint.until(lambda: bench.endpoint.aborted == 1)
    assert process.returncode == 130, errors
    assert chunks(output)[-1]["termination_reason"] == "user_cancelled"


@pytest.mark.django_db(transaction=True)
def test_a_behaviour_is_a_tree_to_choose_and_its_steps_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("ask", "Who leads the project?", "--tree", "plan-then-do")
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert "-- Plan, before the answer" in shown
    assert shown.index("-- Plan") < shown.index("-- Answer") < shown.index("\nCompleted: ")
