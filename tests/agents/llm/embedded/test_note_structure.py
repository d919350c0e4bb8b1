"""What the structure of notes tells: lines that point to a note, sections below a heading, what a
sentence refers to, the table of a person, the name that all notes share.

Each answer comes through the real loop, over notes of its own.
"""

import pytest

from agents.llm.embedded.analysis import analyse
from agents.llm.embedded.phrases import ENGLISH, GERMAN
from agents.llm.embedded.question_kinds import Kind
from tests.agents.llm.embedded.fixtures import ask, tools, vault

VAULT = {
    "index": "# Quarry Choir\n\nWe sing on Thursdays.\n\n## Where to look\n\n- Money: [[Till]]\n"
    "- What is undecided: [[Loose ends]]\n- Voices: [[Voices]]\n",
    "Till": "# Till\n\nEach singer pays 12 euros a month.\n",
    "Crew": "# Crew\n\n| person | task | to be reached |\n|---|---|---|\n"
    "| Ada Bell | till | after the rehearsal |\n| Bo Grant | chairs | Mondays at 8 |\n",
    "Loose ends": "# Loose ends\n\n- Do we record the mass?\n- Who prints the posters?\n",
    "Rules": "# Rules\n\n## Spending\n\nThe conductor may spend 200 euros alone. Anything above"
    " that needs a signature from the chair, Kim Loe.\n",
    "Organ": "# Organ\n\n## Order\n\n1. Switch on the blower first and the lamp second.\n\n"
    "Switching on the lamp first damages the fuse.\n\n## Care\n\nThe bellows have a guarantee of"
    " four years. The pipes are cleaned every ten years.\n",
    "Concerts": "# Concerts\n\n## Halls that we rejected\n\n- Town hall: no organ.\n"
    "- School: too small.\n\n## The hall\n\nWe sing in the church, and tickets are sold there.\n",
    "Styles": "# Styles\n\n## Alternative formats\n\nA concert is not the only way.\n\n"
    "### Open rehearsal\n\nPeople listen while we work.\n\n### Flash choir\n\nWe appear in a"
    " market.\n",
    "Soup": "# Leek soup\n\n## Base\n\n- 2 leeks\n- 1 litre of stock\n\n## Directions\n\n"
    "1. Cut the leeks.\n2. Boil the base of leeks and stock for an hour.\n3. Serve it.\n",
    "Partner": "# Partner\n\nOlga asks the printing company for a price by 4 May.\n",
    "Kompost": "# Kompost\n\nNussschalen und Fleisch gehören nicht auf den Kompost. Er wird im Mai"
    " umgesetzt.\n",
}
UNSURE = (*(words[key] for words in (ENGLISH, GERMAN) for key in ("nearest", "nothing")),)


async def answer(question: str, after: str = "") -> str:
    """Return the answer to a question, asked after another one."""
    runner = tools(await vault(**VAULT))
    history = []
    if after:
        first = await ask(after, runner=runner)
        history = [
            {"role": "user", "content": after},
            {"role": "assistant", "content": str(first.answer)},
        ]
    return str((await ask(question, runner=runner, history=history)).answer)


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Who looks after the money?", "Ada Bell"),  # its line points to the till, which she has
        ("What is undecided in the choir?", "Who prints the posters?"),
        ("Who has to sign when the conductor wants to buy something expensive?", "Kim Loe"),
        ("What happens if I switch on the lamp before the blower?", "damages the fuse"),
        ("How long is the guarantee on the bellows of the organ?", "four years"),
        ("Which other halls did we look at for singing?", "too small"),
        ("Which other formats are there besides a concert?", "appear in a market"),
        ("How do I make the base of the leek soup?", "Boil the base"),
        ("Darf ich Eierschalen auf den Kompost werfen?", "Nussschalen"),
    ],
)
async def test_the_structure_of_notes_leads_to_the_answer(question: str, fact: str) -> None:
    told = await answer(question)
    assert not told.startswith(UNSURE)
    assert fact in told


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    ("after", "question", "fact"),
    [
        ("Who looks after the till?", "And when can I reach her?", "after the rehearsal"),
        ("Wann wird der Kompost umgesetzt?", "Und darf Fleisch darauf?", "Fleisch gehören nicht"),
    ],
)
async def test_a_later_question_leans_on_the_row_before(
    after: str, question: str, fact: str
) -> None:
    assert fact in await answer(question, after)


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    "question",
    [
        "What is the printing company called?",  # Olga stands beside it, and is not its name
        "Who founded the Quarry Choir?",
        "How heavy is the organ?",
    ],
)
async def test_what_stands_beside_it_is_not_taken_for_the_answer(question: str) -> None:
    assert (await answer(question)).startswith(UNSURE)


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("What does rest mean compared with pause?", ("rest", "pause")),
        ("How do long rests compare with short ones?", ("long rests", "short ones")),
        ("Rest versus pause: how do they differ?", ("Rest", "pause: how do they")),
    ],
)
def test_what_is_compared_is_seen(text: str, sides: tuple[str, ...]) -> None:
    assert analyse(text).sides == sides


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Bekomme ich das Geld zurück?", Kind.YES_NO),
        ("What kind of vault is this?", Kind.ABOUT),
        ("What do spiders do to the strings?", Kind.WHAT),
        ("What other ways of singing did we try?", Kind.LIST),
    ],
)
def test_the_kind_is_seen_from_how_it_begins(text: str, kind: Kind) -> None:
    assert analyse(text).kind is kind


NAMES = ("Anna", "Berta", "Clara", "Dora", "Emma", "Frieda", "Gerda", "Hanna")


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    ("question", "is_sure"),
    [
        ("Why does a boat carry so many green ropes?", False),  # all notes are as near as the first
        ("Why does the Clara carry so many green ropes?", True),
    ],
)
async def test_of_many_notes_that_are_equally_near_none_answers_unless_named(
    question: str, is_sure: bool
) -> None:
    text = "This boat carries anchors and ropes, because the harbour is narrow.\n"
    ran = await ask(question, runner=tools(await vault(**dict.fromkeys(NAMES, text))))
    assert ran.answer.startswith(UNSURE) is not is_sure


@pytest.mark.usefixtures("transactional_db")
async def test_what_changed_once_is_read_after_what_is_so_now() -> None:
    line = "The winch of the crane lifts more."
    notes = {f"Changes {n}": f"# {n}.0 release notes\n\n{line}\n" for n in range(7)}
    notes["Yard"] = f"# Yard\n\n{'It is wide and windy. ' * 20}\n\nThe winch lifts 9 tons.\n"
    runner = tools(await vault(**notes))
    ran = await ask("How much does the winch of the crane lift?", runner=runner)
    assert "9 tons. [Yard.md:5]" in ran.answer
