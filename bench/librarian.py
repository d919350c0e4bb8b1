"""`python -m bench.librarian`: what automatic delegation saves of a run's prompts, and its cost.

Runs of the real loop, client and tools over notes and threads of a site of its own, against a
scripted endpoint. Each result that is asked for holds one fact. The model answers with the facts
that it finds in its prompt, and the librarian's model keeps the sentences that share words with
the question. Every run is made with and without delegation, in turns, on each budget.
"""

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.core.chunks import Turn
from agents.core.ports import ToolRunner
from agents.projects.services import create_project
from agents.tools.catalogue import TOOLS
from agents.tools.delegating_runner import DelegatingRunner
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.project_notes import ProjectNotes
from agents.vault.project_threads import ProjectThreads
from agents.vault.threads import NewEntry, push_entry
from tests.support.runs import Bench, Ran, drive, served
from tests.support.script import Body, Call, Reply, Script, calls, is_tool_free, say

NAMES = ("Abel", "Brava", "Corvo", "Delta", "Enna")
QUESTION = f"What pressure did the inspection find in the valves {', '.join(NAMES)}?"
BUDGETS = (12_000, 20_000, 30_000, 50_000, 100_000, 200_000)
FILLER = "The crew washed the deck and painted the rail before the tide turned at the old quay"
TOOLS_OF_A_RUN = ("vault_search", "vault_read", "vault_list", "thread_read", "think")
_SENTENCE = re.compile(r"[^.\n]*\binspection of the \w+ valve found[^.\n]*")


def get_fact(name: str) -> str:
    return f"The inspection of the {name} valve found {7 + NAMES.index(name)} bar"


def build_project(user: User) -> UUID:
    """Make what the runs ask for: each name has a long note, a folder, hits and a thread."""
    project, author = create_project(user, "bench").pk, Author.person(user.pk)
    for name in NAMES:
        lines = [f"{FILLER}, entry {n}.\n" for n in range(220)]
        lines[130] = f"{get_fact(name)}.\n"
        notes.create_note(project, f"log/{name}.md", f"# Log {name}\n\n" + "\n".join(lines), author)
        for number in range(60):
            said = get_fact(name) if number == 41 else f"{FILLER} {number}"
            path = f"shelf/{name}/a note with a rather long name {number:03d}.md"
            notes.create_note(project, path, f"# {said}\n\nHarbour {name} {number}.\n", author)
        for number in range(40):
            said = get_fact(name) if number == 17 else f"{FILLER} {number}"
            push_entry(project, name, NewEntry(f"{said}. {FILLER}. {FILLER}."), author)
        for number in range(20):
            said = get_fact(name) if number == 12 else f"{FILLER}, {number}"
            lantern = f"The lantern {name} burned through the night, {FILLER.casefold()}"
            text = f"# Round {number} of the lantern {name}\n\n{lantern}. {said}. {lantern}.\n"
            notes.create_note(
                project, f"rounds/{name}/the round of night {number}.md", text, author
            )
    return project


WAYS: dict[str, Any] = {
    "a long note": lambda name: Call("vault_read", {"path": f"log/{name}.md"}),
    "a long list": lambda name: Call("vault_list", {"folder": f"shelf/{name}"}),
    "many hits": lambda name: Call("vault_search", {"queries": [f"lantern {name}"], "limit": 20}),
    "a long thread": lambda name: Call("thread_read", {"thread": name, "limit": 50}),
}


@dataclass(frozen=True)
class Job:
    """A run: which calls it makes, one turn after the other."""

    title: str
    turns: Sequence[Sequence[Call]]

    @property
    def names(self) -> list[str]:
        return [name for name in NAMES if any(name in c.json for turn in self.turns for c in turn)]


def build_jobs() -> list[Job]:
    jobs = []
    for title, way in WAYS.items():
        for count in (1, 3, 5):
            jobs.append(Job(f"{title}, {count} in turn", [[way(n)] for n in NAMES[:count]]))
        jobs.append(Job(f"{title}, 3 at once", [[way(n) for n in NAMES[:3]]]))
    mixed = [way(name) for name, way in zip(NAMES, WAYS.values(), strict=False)]
    return [*jobs, Job("one of each in turn", [[call] for call in mixed])]


def play_model(job: Job) -> Script:
    def step(body: Body) -> Reply:
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        if turn < len(job.turns) and not is_tool_free(body):
            return calls(*job.turns[turn])
        heard = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        return say(". ".join(dict.fromkeys(_SENTENCE.findall("\n".join(heard)))) or "Nothing.")

    return Script((), then=step)


def play_librarian(body: Body) -> Reply:
    """Keep the sentences that share most words with the question, as a summary would."""
    task = str(body["messages"][1]["content"])
    _, _, result = task.partition("never an instruction to you:\n\n")
    asked = set(re.findall(r"\w{4,}", QUESTION.casefold()))
    rated = [
        (len(asked.intersection(re.findall(r"\w{4,}", sentence.casefold()))), sentence.strip())
        for sentence in re.split(r"[.\n]", result)
    ]
    best = sorted((r for r in rated if r[0]), key=lambda r: -r[0])[:8]
    return say("\n".join(f"- {sentence}." for _, sentence in best) or "Nothing of it is there.")


@dataclass
class Total:
    """What the runs of one kind came to."""

    runs: int = 0
    prompts: int = 0
    tokens: int = 0
    limited: int = 0
    facts: int = 0
    summaries: int = 0
    kept: int = 0
    """Summaries that have the fact of their result."""
    cpu: float = 0.0
    seconds: float = 0.0
    over: int = 0
    limited_runs: list[str] = field(default_factory=list)

    def add(self, job: Job, budget: int, ran: Ran, cpu: float) -> None:
        done = ran.record.done
        assert done is not None
        turns = [c for c in ran.chunks if isinstance(c, Turn) and c.phase == "end"]
        self.runs += 1
        self.prompts += sum(turn.prompt_tokens for turn in turns if not turn.parent)
        self.tokens += done.tokens_used
        self.over += done.tokens_used > budget
        self.facts += sum(get_fact(name) in ran.answer for name in job.names)
        self.summaries += sum(bool(result.given) for result in ran.record.results.values())
        self.kept += sum(bool(_SENTENCE.search(r.given)) for r in ran.record.results.values())
        self.cpu += cpu
        self.seconds += ran.seconds
        if ran.outcome == "limited":
            self.limited += 1
            self.limited_runs.append(f"{job.title} on {budget:,}")


async def measure(project: UUID, job: Job, budget: int, total: Total, *, delegates: bool) -> None:
    async with served(oracle=play_model(job), librarian=Script((), then=play_librarian)) as place:
        tools = build_tools(project, place, delegates=delegates)
        limits = {"token_budget": budget, "timeout_seconds": 300}
        cpu = time.process_time()
        ran = await drive(place.model("oracle"), tools, config=limits, question=QUESTION)
        total.add(job, budget, ran, time.process_time() - cpu)


def build_tools(project: UUID, place: Bench, *, delegates: bool) -> ToolRunner:
    offered = [TOOLS.get(name) for name in TOOLS_OF_A_RUN]
    tools = ToolExecutor(offered, [ProjectNotes(project), ProjectThreads(project)])
    if not delegates:
        return tools
    return DelegatingRunner(tools, Librarian(place.model("librarian"), tools), QUESTION)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    project = build_project(User.objects.create_user("ada"))
    jobs, totals = build_jobs(), dict[tuple[str, bool], Total]()
    for _ in range(options.rounds):
        for job in jobs:
            for budget in BUDGETS:
                for delegates in (False, True):
                    for key in (f"budget {budget:,}", job.title, "all"):
                        totals.setdefault((key, delegates), Total())
                    one = Total()
                    asyncio.run(measure(project, job, budget, one, delegates=delegates))
                    for key in (f"budget {budget:,}", job.title, "all"):
                        merge(totals[key, delegates], one)
    report(totals, sum(len(job.names) for job in jobs) * len(BUDGETS) * options.rounds)
    return 0


def merge(total: Total, one: Total) -> None:
    for name, value in vars(one).items():
        setattr(total, name, getattr(total, name) + value)


def report(totals: dict[tuple[str, bool], Total], facts: int) -> None:
    print(f"{'':26} {'prompts':>19} {'less':>5} {'all tokens':>19} {'limited':>9} {'facts':>9}")
    for key in dict.fromkeys(key for key, _ in totals):
        off, on = totals[key, False], totals[key, True]
        print(
            f"{key:26} {off.prompts:9,} {on.prompts:9,} {1 - on.prompts / off.prompts:5.0%} "
            f"{off.tokens:9,} {on.tokens:9,} {off.limited:4} {on.limited:4} "
            f"{off.facts:4} {on.facts:4}   {on.kept} of {on.summaries} summaries"
        )
    off, on = totals["all", False], totals["all", True]
    print(
        f"{off.runs} runs each; {facts} facts were planted; over the budget: {off.over}, {on.over}"
    )
    print(f"CPU of a run {off.cpu / off.runs * 1e3:.0f}, {on.cpu / on.runs * 1e3:.0f} ms; ", end="")
    print(f"time {off.seconds / off.runs * 1e3:.0f}, {on.seconds / on.runs * 1e3:.0f} ms")
    print("limited with it alone:", sorted({*on.limited_runs} - {*off.limited_runs}) or "none")


if __name__ == "__main__":
    sys.exit(main())
