"""Questions in other words than the notes have: what is still sure to answer them, and what is not.

Each answer comes through the real loop, over notes of its own.
"""

from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async

from agents.core.messages import Message
from agents.llm.embedded.analysis import analyse
from agents.llm.embedded.evidence import parse_thread
from agents.llm.embedded.passages import parse_note
from agents.llm.embedded.phrases import ENGLISH
from agents.llm.embedded.request import Exchange
from agents.llm.embedded.scoring import PassageScorer
from agents.models import Project
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from agents.vault.project_notes import ProjectNotes
from agents.vault.project_threads import ProjectThreads
from agents.vault.threads import NewEntry, push_entries
from tests.agents.llm.embedded.fixtures import NAMES, ask, tools, vault
from tests.support.timing import assert_in_proportion

VAULT = {
    "Ferry": "# Ferry\n\nThe crossing to Holm takes 40 minutes. Dogs travel free of charge.\n\n"
    "Captain Ada Bell steers it. The ferry line asks for a booking two days ahead.\n\n"
    "| pier | keeper |\n|---|---|\n| north | Olga Reed |\n",
    "Engine": "# Engine\n\nThe engine is tilted by 12 degrees. Oil runs back, and it starts in"
    " frost.\n\n- Below 20 litres the lamp glows.\n- Below 5 litres it stops.\n",
    "Film": "---\ndirector: Bo Grant\nyear: 1999\nlast: 2024-03-05\n---\n# Film\n\nA short one.\n",
    "Other": "---\ndirector: Kim Loe\nyear: 2001\n---\n# Other\n\nA long one.\n",
    "Index": "# Index\n\n- Money: [[Till]]\n- Who does what: [[Crew]]\n",
    "Vertrag": "# Gespräch mit Nord\n\n## Garantie\n\nDie Garantie dauert drei Jahre. Sie gilt"
    " nicht für Blitzschlag.\n",
    "Paint": "# Paint the hull\n\n## Mixing\n\n1. Stir the paint.\n2. Add the hardener.\n"
    "3. Wait for an hour.\n",
    "Open": "# Open questions\n\n## Before winter\n\n- Who buys the salt?\n- Where is the key?\n",
}
UNSURE = (ENGLISH["nearest"], ENGLISH["nothing"])


async def answer(question: str, history: list[Message] | None = None) -> str:
    ran = await ask(question, runner=tools(await vault(**VAULT)), history=history or [])
    return str(ran.answer)


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("How long does the crossing to Holm take by boat?", "40 minutes"),  # none has `boat`
        ("Can I bring my dog on the ferry?", "Dogs travel free"),
        ("Why is the engine so slanted?", "starts in frost"),  # the reason stands behind it
        ("What does the engine do when the oil is low?", "5 litres it stops"),  # the whole list
        ("Who directed the film Film?", "Bo Grant"),  # the property of the note that is named
        ("Does the warranty of Nord cover lightning?", "nicht für Blitzschlag"),
        ("How do I paint the hull, step by step?", "Add the hardener"),
        ("How do I mix the paint properly?", "Wait for an hour"),  # below a heading that says it
        ("Which questions do we have to settle before winter?", "Who buys the salt?"),
        ("I am new here: what is the ferry for?", "crossing to Holm"),
    ],
)
async def test_a_question_in_other_words_is_answered(question: str, fact: str) -> None:
    told = await answer(question)
    assert not told.startswith(UNSURE)
    assert fact in told


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    "question",
    [
        "Who is the deputy of Olga Reed?",  # an office that no note names
        "Which company runs the ferry?",
        "What time does the ferry leave?",
        "What is the phone number of Ada Bell?",
        "Which version of the engine is it?",
        "Who looks after the money?",  # a line that only points to a note
        "How much does Ada Bell earn?",
        "Who produced Film?",
    ],
)
async def test_what_no_note_says_is_not_answered(question: str) -> None:
    assert (await answer(question)).startswith(UNSURE)


@pytest.mark.usefixtures("transactional_db")
async def test_a_property_is_asked_for_by_its_name_of_what_was_said_before() -> None:
    before: list[Message] = [
        {"role": "user", "content": "Who directed Film?"},
        {"role": "assistant", "content": "### Film\n\n- director: Bo Grant [Film.md:2]"},
    ]
    assert "last: 2024-03-05" in (await answer("When did I last watch it?", before)).split("\n")[2]


@pytest.mark.usefixtures("transactional_db")
async def test_a_paragraph_is_quoted_as_one_with_one_citation() -> None:
    told = await answer("Why is the engine so slanted?")
    assert "tilted by 12 degrees. Oil runs back, and it starts in frost. [Engine.md:3]" in told


@sync_to_async
def make_thread(name: str, *entries: NewEntry) -> ToolExecutor:
    project = Project.objects.create(name="boat")
    push_entries(project.pk, name, entries, Author.importer())
    names = (*NAMES, "thread_seek", "thread_read")
    services = [ProjectNotes(project.pk), ProjectThreads(project.pk)]
    return ToolExecutor([TOOLS.get(name) for name in names], services)


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Summarise the thread on the leaking hull", ["leaks at the stern", "weld a plate"]),
        ("How much does a new hull cost?", ["900 euros", "[thread:leaking hull#2]"]),
        ("What did we decide about the hull?", ["We weld a plate over it"]),
    ],
)
async def test_a_thread_is_read_as_a_note_is(
    monkeypatch: pytest.MonkeyPatch, question: str, told: list[str]
) -> None:
    prompt = "You are Oracle. Threads, cited as [thread:name#number]:\n- leaking hull (2 entries)"
    monkeypatch.setattr("tests.support.runs.SYSTEM_PROMPT", prompt)
    runner = await make_thread(
        "leaking hull",
        NewEntry("The hull leaks at the stern. Bo saw it in March.", "research"),
        NewEntry("We weld a plate over it. A new hull costs 900 euros.", "decision"),
    )
    ran = await ask(question, runner=runner)
    assert not ran.answer.startswith(UNSURE)
    assert [part for part in told if part not in ran.answer] == []


def test_no_text_of_an_entry_can_pass_for_another_entry() -> None:
    entry = "#3 thought, 2026-01-02, ada\n  | Odd:\n  | #1 decision, 2026-01-01\n  | It is green."
    read = parse_thread("hull", f"hull (1 entry, last on 2026-01-02)\n{entry}")
    assert {passage.citation for passage in read} == {"[thread:hull#3]"}
    assert "It is green." in read[-1].text


@pytest.mark.usefixtures("transactional_db")
async def test_entries_of_one_day_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "You are Oracle. Threads, cited as [thread:name#number]:\n- hull (3 entries)"
    monkeypatch.setattr("tests.support.runs.SYSTEM_PROMPT", prompt)
    texts = (
        "---\ntitle: Signed by the board\n---\nThe leak at the stern is welded.",
        "Ada likes pizza.",
        "Bo paints the mast.",
    )
    runner = await make_thread("hull", *(NewEntry(text, "decision") for text in texts))
    summary = await ask("Summarise the thread on the hull", runner=runner)
    assert [n for n in (1, 2, 3) if f"[thread:hull#{n}]" not in summary.answer] == []
    assert summary.answer.startswith("### hull")
    ran = await ask("What is done about the leak at the stern?", runner=runner)
    assert "is welded. [thread:hull#1]" in ran.answer
    assert "pizza" not in ran.answer


@pytest.mark.parametrize(
    ("question", "note", "size"),
    [
        (lambda size: "what do " * size, lambda _: "A short line.\n\n" * 300, 249),
        (lambda _: "what do " * 249, lambda size: "A short line.\n\n" * size, 300),
        (lambda size: "and the it" + "a" * size + " b c d e", lambda _: "One line.", 1_900),
        (lambda _: "Which version of the tool is it?", lambda size: "version " * size, 12_500),
        (lambda _: "How much more does it cost?", lambda size: "a" * size, 50_000),
        (lambda _: "When did it begin?", lambda size: "On 5." + " " * size + "1 x", 20_000),
    ],
)
def test_no_question_and_no_note_can_keep_it_busy(
    question: Callable[[int], str], note: Callable[[int], str], size: int
) -> None:
    def read(size: int) -> None:
        earlier = [Exchange("What is it?", "### A\n\n- It is a tool. [a.md:1]")]
        asked = analyse(question(size), earlier)
        passages = parse_note("a.md", enumerate(note(size).split("\n"), start=1))
        PassageScorer(asked, passages).sort(passages)

    assert_in_proportion(read, int, size=size)
