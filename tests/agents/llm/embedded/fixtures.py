"""Ask the embedded model through the real loop, and hold its answers against what it was given."""

import re
from collections.abc import Iterable, Iterator, Sequence

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from agents.core.messages import Message
from agents.core.ports import ToolRunner
from agents.llm.embedded import OfflineModel
from agents.llm.embedded.passages import strip_links
from agents.llm.embedded.phrases import ENGLISH, GERMAN
from agents.llm.embedded.request import CITATION
from agents.models import Project
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from agents.vault.project_notes import ProjectNotes
from agents.vault.sample import add_sample_notes
from agents.vault.service import Notes
from tests.support.runs import Ran, drive
from tests.support.template import Tables

NAMES = (
    "vault_search",
    "vault_read",
    "vault_list",
    "vault_write",
    "calculate",
    "current_time",
)

_FIXED = sorted([*ENGLISH.values(), *GERMAN.values()], key=len, reverse=True)
_PHRASE = re.compile("|".join(re.escape(text).replace(r"\{\}", ".*?") for text in _FIXED))
_NUMBERED = re.compile(r"^(?:\d+|  )\| ?", re.MULTILINE)


_sample: list[Notes] = []
"""The notes of the sample, while a test has them."""


@pytest.fixture(scope="session")
def kept() -> Iterator[list[Tables]]:
    """A database with the sample project in it, once a test has made one."""
    made: list[Tables] = []
    yield made
    for tables in made:
        tables.close()


@pytest.fixture
def sample(transactional_db: None, kept: list[Tables]) -> Iterator[Notes]:
    """The sample project, whose notes `ask` asks about. To write and index them takes thirty times
    as long as to put a file back."""
    if kept:
        kept[0].put_back()
    else:
        add_sample_notes(Project.objects.create(name="sample", slug="sample"))
        kept.append(Tables(str(connection.settings_dict["NAME"])))
    _sample.append(ProjectNotes(Project.objects.get(slug="sample").pk))
    yield _sample[-1]
    _sample.clear()


def tools(notes: Notes | None = None, names: Iterable[str] = NAMES) -> ToolExecutor:
    return ToolExecutor([TOOLS.get(name) for name in names], [notes or _sample[-1]])


@sync_to_async
def vault(**notes: str) -> Notes:
    """Make another project, with these notes by name."""
    slug = f"vault-{Project.objects.count()}"
    project = Project.objects.create(name=slug, slug=slug)
    made = ProjectNotes(project.pk, Author.importer())
    for name, text in notes.items():
        made.write(f"{name}.md", text)
    return made


async def ask(
    question: str,
    *,
    runner: ToolRunner | None = None,
    history: Sequence[Message] = (),
    config: dict[str, int] | None = None,
) -> Ran:
    ran = await drive(
        OfflineModel(pace=0),
        runner or tools(),
        question=question,
        history=history,
        config=config,
    )
    assert unfounded(ran, history) == []
    return ran


async def talk(*questions: str) -> Ran:
    """Ask one after the other in one conversation; the last run."""
    history: list[Message] = []
    for question in questions:
        ran = await ask(question, history=history)
        history += [
            {"role": "user", "content": question},
            {"role": "assistant", "content": ran.answer},
        ]
    return ran


def cited(answer: str) -> set[str]:
    return {match[1] for match in CITATION.finditer(answer)}


def unfounded(ran: Ran, history: Sequence[Message] = ()) -> list[str]:
    """Parts of an answer that are neither a fixed phrase nor word for word in a tool's result, of
    this run or of those before it."""
    earlier = [str(message["content"]) for message in history if message["role"] == "tool"]
    results = [*earlier, *(result.tool_result for result in ran.record.results.values())]
    numberless = (_NUMBERED.sub("", result) for result in results)
    given = _plain(strip_links(CITATION.sub("", " \n ".join(numberless))))  # entries cite, too
    parts = (part for line in ran.answer.split("\n") for part in _split_parts(line))
    return [part for part in parts if part and _plain(part) not in given]


def _split_parts(line: str) -> list[str]:
    """Cut a line where its parts need not stand beside each other in a note."""
    line = CITATION.sub("", line).strip()
    line = re.sub(r"^(?:- |\d+[.)] |### )", "", line)
    while found := _PHRASE.match(line):
        line = line[found.end() :].strip()
    line = re.sub(r"^\*\*(.*)\*\*$", r"\1", line)
    line = re.sub(r"\\([<!])", r"\1", line).strip().removesuffix(" …")
    return [word for part in line.split(" · ") for word in _split_cell(part)]


def _split_cell(part: str) -> list[str]:
    """Cut the name of a column or a property from what stands there, and the values apart."""
    return re.split(": |, ", part) if ": " in part else [part]


def _plain(text: str) -> str:
    return " ".join(text.split())
