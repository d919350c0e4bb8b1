"""Questions that were written from the notes alone, and how well an answer meets them.

The vault of one of them lies beside a developer's checkout; without it, its questions are left out.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async

from agents.core.chunks import OracleStreamChunk
from agents.core.messages import Message
from agents.core.stemming import fold
from agents.llm.embedded import OfflineModel
from agents.llm.embedded.phrases import ENGLISH, GERMAN
from agents.llm.embedded.request import CITATION
from agents.models import Project
from agents.runtime.system_prompt import build_system_prompt
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.project_notes import ProjectNotes
from agents.vault.project_threads import ProjectThreads
from agents.vault.sample import SAMPLE_FOLDER
from tests.support.retrieval import DJANGO, FOLDER, import_vault, unpack_vault
from tests.support.runs import Ran, drive

HERE = Path(__file__).resolve().parent.parent / "agents" / "llm" / "embedded"
GARDEN = HERE / "vaults" / "garten"
READING_TOOLS = (
    "vault_search", "vault_read", "vault_list", "thread_seek", "thread_read",
    "calculate", "current_time",
)  # fmt: skip
WITHIN = 900
"""The fact stands among so many characters at the beginning, unless the question says more."""
_UNSURE = [said[key] for said in (ENGLISH, GERMAN) for key in ("nearest", "nothing")]


@dataclass(frozen=True, slots=True)
class ReaderQuestion:
    vault: str
    half: str
    ask: str
    after: str = ""
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    within: int = WITHIN
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """How many of the questions were met, of each kind of verdict."""

    verdicts: Counter[str]

    @property
    def right(self) -> float:
        asked = self.verdicts.total() - self.verdicts["recognised"] - self.verdicts["invented"]
        return self.verdicts["right"] / max(1, asked)

    @property
    def wrong(self) -> float:
        wrong = self.verdicts["wrong"] + self.verdicts["invented"]
        return wrong / max(1, self.verdicts.total())

    @property
    def recognised(self) -> float:
        absent = self.verdicts["recognised"] + self.verdicts["invented"]
        return self.verdicts["recognised"] / max(1, absent)


def read_questions(half: str = "") -> list[ReaderQuestion]:
    """Return the first questions, which were written one after the other, or one half of all."""
    rows = tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))["question"]
    return _parse_questions(rows, half) or _parse_questions(_read_sets(), half)


def read_set_questions() -> list[ReaderQuestion]:
    """Return the questions of 53 authors, sixty of each."""
    return _parse_questions(_read_sets())


def _read_sets() -> list[dict[str, Any]]:
    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _parse_questions(rows: Iterable[dict[str, Any]], half: str = "") -> list[ReaderQuestion]:
    lists = ("facts", "notes")
    found = (ReaderQuestion(**r | {k: tuple(r.get(k, ())) for k in lists}) for r in rows)
    return [question for question in found if half in ("", question.half)]


def open_vaults(place: Path, user_id: int) -> dict[str, UUID]:
    """Import the vaults that are there, each into a project of its own."""
    folders = {"sample": SAMPLE_FOLDER, "garten": GARDEN}
    if FOLDER.is_dir():
        folders["kepano"] = unpack_vault("kepano", place)
        folders["django"] = unpack_vault(DJANGO, place / "django")
    return {name: import_vault(folder, user_id) for name, folder in folders.items()}


async def ask_reader(project_id: UUID, question: ReaderQuestion) -> str:
    """Ask through the real loop, after the question before it if there is one."""
    history: list[Message] = []
    if question.after:
        earlier = await _ask(project_id, question.after, ())
        history = [
            {"role": "user", "content": question.after},
            {"role": "assistant", "content": earlier},
        ]
    return await _ask(project_id, question.ask, history)


async def _ask(project_id: UUID, text: str, history: Sequence[Message]) -> str:
    system = await sync_to_async(_build_prompt)(project_id)
    return (await drive_reader(ProjectNotes(project_id), text, history, system=system)).answer


def _build_prompt(project_id: UUID) -> str:
    return build_system_prompt(Project.objects.get(pk=project_id), can_write=False)


async def drive_reader(
    notes: ProjectNotes,
    text: str,
    history: Sequence[Message] = (),
    watch: Callable[[OracleStreamChunk], None] | None = None,
    system: str = "",
) -> Ran:
    services = [notes, ProjectThreads(notes.project_id)]
    tools = ToolExecutor([TOOLS.get(name) for name in READING_TOOLS], services)
    model = OfflineModel(pace=0)
    return await drive(model, tools, question=text, system=system, history=history, watch=watch)


def judge(question: ReaderQuestion, answer: str) -> str:
    """Say whether an answer is right, wrong or unsure; of what is absent, whether it was seen."""
    unsure = any(said in answer for said in _UNSURE)
    if question.absent:
        return "recognised" if unsure else "invented"
    if unsure:
        return "unsure"
    shown = fold(answer[: question.within])
    has = all(any(fold(f) in shown for f in fact.split("|")) for fact in question.facts)
    cited = {_get_file(match[1]) for match in CITATION.finditer(answer)}
    return "right" if has and (not question.notes or cited & {*question.notes}) else "wrong"


def _get_file(source: str) -> str:
    """Return where a source lies in its vault: a thread is a file among the others."""
    thread = source.removeprefix("thread:")
    return source if thread == source else f"threads/{thread.replace(' ', '-')}.md"


def score(verdicts: Iterable[str]) -> Score:
    return Score(Counter(verdicts))
