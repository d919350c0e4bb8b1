"""What an answer stands on is told alike: live, after a reload, by the API and in exports."""

import json
from collections.abc import Sequence

import pytest
from asgiref.sync import sync_to_async

from agents.core.answer_sources import NOT_LOOKED, NOT_USED
from agents.core.chunks import OracleStreamChunk, SourceRef
from agents.ledger import load_run_record
from agents.models import AgentRun, Project
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from agents.vault.project_notes import ProjectNotes
from chat.api.serializers import serialize_run
from chat.export.json_format import json_document
from chat.export.markdown_format import markdown_document
from chat.rendering import fragments
from tests.chat.factories import Talk, said
from tests.chat.rendering.test_fragments import Followed
from tests.chat.run_chunks import an_answer
from tests.support.dom import read
from tests.support.runs import drive, served
from tests.support.script import Script, Step, call, say

pytestmark = pytest.mark.django_db(transaction=True)
SEARCH = call("vault_search", queries=["tide"])
READ = call("vault_read", path="plan/b.md")
CASES: dict[str, tuple[Sequence[Step], list[str], str]] = {
    "nothing": ([say("It is high.")], [], NOT_LOOKED),
    "thought": ([call("think", thought="Hm."), say("It is high.")], [], NOT_LOOKED),
    "found": ([SEARCH, say("It is high.")], [], NOT_USED),
    "cited": ([SEARCH, say("It is high [plan/a.md:3].")], ["plan/a.md"], ""),
    "read": ([SEARCH, READ, say("It is low.")], ["plan/b.md"], ""),
    "both": (
        [SEARCH, READ, say("High [plan/a.md], low [plan/b.md:3].")],
        ["plan/a.md", "plan/b.md"],
        "",
    ),
    "wrote": ([call("vault_write", path="c.md", body="x"), say("Done [c.md].")], [], NOT_USED),
}


@pytest.fixture
def notes() -> ProjectNotes:
    project = Project.objects.create(name="harbour", slug="harbour")
    made = ProjectNotes(project.pk, Author.importer())
    for name, word in (("a", "high"), ("b", "low")):
        made.write(f"plan/{name}.md", f"# Note {name}\n\nThe tide is {word}.\n", "")
    return made


@pytest.mark.parametrize("case", CASES)
async def test_sources_and_their_absence_are_told_alike_everywhere(
    case: str, notes: ProjectNotes
) -> None:
    steps, paths, note = CASES[case]
    async with served(Script(list(steps))) as bench:
        tools = ToolExecutor(
            [TOOLS.get(f"vault_{name}") for name in ("search", "read", "write")]
            + [TOOLS.get("think")],
            [notes],
        )
        ran = await drive(bench.model(), tools)
    assert sorted({source.path for source in ran.record.used_sources}) == paths
    assert ran.record.used_sources.note(ran.outcome) == note
    await _compare(ran.chunks, list(ran.record.used_sources), note, ran.answer)


async def _compare(
    chunks: Sequence[OracleStreamChunk], sources: list[SourceRef], note: str, answer: str
) -> None:
    page = Followed()
    for chunk in chunks:
        page.take([chunk])
    page.assert_as_reloaded()
    _check_page(str(page.dom.get(page.answer.id)), sources, note)
    _check_page(fragments.render_answer(an_answer(chunks), page.run), sources, note)
    await sync_to_async(_check_stored)(chunks, sources, note, answer)


def _check_page(html: str, sources: list[SourceRef], note: str) -> None:
    (block,) = [e for e in read(html).walk() if e.id.endswith("-sources")]
    listed = [e.text.split()[0] for e in block.walk() if e.tag == "li"]
    assert listed == [f"{source.path}:{source.line}" for source in sources]
    assert (note in block.text) if note else ("Answered without" not in html)


def _check_stored(
    chunks: Sequence[OracleStreamChunk], sources: list[SourceRef], note: str, answer: str
) -> None:
    talk = Talk()
    exchange = talk.ask("Is it high?", outcome=None, answer="")
    said(exchange, chunks)
    AgentRun.objects.filter(pk=exchange.run_id).update(outcome="completed", answer=answer)
    exchange.run.refresh_from_db()
    view = serialize_run(exchange.run, load_run_record(exchange.run_id))
    assert (view.sources, view.sources_note) == (sources, note)
    exported = json.loads("".join(json_document(talk.now)))["exchanges"][-1]
    assert [one["path"] for one in exported["sources"]] == [one.path for one in sources]
    assert exported["sources_note"] == note
    text = "".join(markdown_document(talk.now)).rpartition("## 2.")[2]
    assert (f"*{note}*" in text) if note else ("Answered without" not in text)
    assert ("**Sources**" in text) is bool(sources)
