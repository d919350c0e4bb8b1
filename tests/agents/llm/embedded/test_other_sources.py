"""The embedded reader over threads and code, through the real loop."""

import pytest
from asgiref.sync import sync_to_async

from agents.models import Project
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from agents.vault.project_threads import ProjectThreads
from agents.vault.service import Notes
from agents.vault.threads import NewEntry, push_entries
from tests.agents.llm.embedded.fixtures import NAMES, ask
from tests.agents.tools.fake_code import FakeCode

PROMPT = "You are Oracle. Threads, cited as [thread:name#number]:\n- Winter supply (2 entries)"
ALL_NAMES = (*NAMES, "thread_seek", "search_code", "find_definition")


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.runs.SYSTEM_PROMPT", PROMPT)


@sync_to_async
def build_tools(notes: Notes) -> ToolExecutor:
    project = Project.objects.get(slug="sample")
    entries = [
        NewEntry("No mains power on the quay: we stay with the solar panel.", "decision"),
        NewEntry("The plaque should be blue.", "thought"),
    ]
    push_entries(project.pk, "Winter supply", entries, Author.importer())
    services = [notes, ProjectThreads(project.pk), FakeCode()]
    return ToolExecutor([TOOLS.get(name) for name in ALL_NAMES], services)


async def test_a_decision_and_its_code_are_cited_from_note_thread_and_line(sample: Notes) -> None:
    ran = await ask(
        "Which decisions did we take about power, and where is the reading of the gauge "
        "implemented?",
        runner=await build_tools(sample),
    )
    assert "[decisions/0003-power.md:14]" in ran.answer
    assert "[thread:Winter supply#1]" in ran.answer
    assert "[gauge/reader.py:12]" in ran.answer
    assert "plaque" not in ran.answer


@pytest.mark.parametrize(
    "question", ["Where is Gauge.read defined?", "Wo ist Gauge.read definiert?"]
)
async def test_a_name_is_looked_up_where_it_is_defined(sample: Notes, question: str) -> None:
    ran = await ask(question, runner=await build_tools(sample))
    assert "[gauge/reader.py:12]" in ran.answer
    assert "find_definition" in {call.name for call in ran.record.calls.values()}


async def test_without_code_the_notes_only_come_close(sample: Notes) -> None:
    ran = await ask("Where is the signing key defined?")
    assert ran.answer.startswith("Nothing in the notes answers this directly")
    assert "firmware/release-process.md" in ran.answer


async def test_an_entry_with_one_word_of_the_question_is_left_out(sample: Notes) -> None:
    ran = await ask("Why was radar chosen?", runner=await build_tools(sample))
    assert "[decisions/0001-radar.md:18]" in ran.answer
    assert "[thread:" not in ran.answer
