"""What the structure of notes tells: lines that point to a note, sections below a heading, what a
sentence refers to, the table of a person, the name that all notes share.

Each answer comes through the real loop, over notes of its own.
"""

import pytest

from agents.core.stemming import fold, stem
from agents.llm.embedded.analysis import analyse
from agents.llm.embedded.evidence import Evidence
from agents.llm.embedded.list_finders import find_lists
from agents.llm.embedded.passages import parse_note
from agents.llm.embedded.phrases import ENGLISH, GERMAN
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.request import ParsedRequest
from agents.llm.embedded.scoring import PassageScorer
from tests.agents.llm.embedded.fixtures import ask, tools, vault
from tests.support.timing import assert_in_proportion

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
        ("How long is the guarantee on the old bellows of the pipes?", "four years"),
        ("Which halls for singing did we turn down?", "too small"),
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
        ("Rest versus pause: how do they differ?", ("Rest", "pause")),
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


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    ("note", "question"),
    [
        ("Ada looks after the till.", "Who looks after the till?"),
        ("Bo takes care of the chairs.", "Who takes care of the chairs?"),
        ("The foundation gives us the money, says Ada Bell.", "Who gives us the money?"),
        ("Bo Grant is the treasurer.", "What is the name of the treasurer?"),
        ("The warning tone lasts one second.", "How long does the warning tone last?"),
        (
            "## Other rooms\n\nThe attic and the cellar can be used.",
            "Which other rooms can be used?",
        ),
    ],
)
async def test_what_stands_word_for_word_is_answered(note: str, question: str) -> None:
    told = str((await ask(question, runner=tools(await vault(Note=note)))).answer)
    assert not told.startswith(UNSURE)


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize(
    ("notes", "question"),
    [
        (
            {"Stove": "The guarantee on the stove is four years.", "Van": "Its brakes are old."},
            "How long is the guarantee on the brakes of the van?",
        ),
        (
            {
                "Plan": "- Salary: [[x|shed rent euros month]]",
                "Shed": "Its rent is 50 euros a month.",
            },
            "How much is the salary?",  # the line is in no note that leads into all others
        ),
        (
            {"Guests": "Breakfast is at eight. The key hangs there."},
            "What happens if guests come late?",
        ),
        (
            {
                "index": "# Sailing harbour",
                "Hut": "The fee for the hut is 20 euros.",
                "Books": "The fee for late books is 3 euros.",
            },
            "How high is the harbour fee?",
        ),
    ],
)
async def test_what_only_resembles_it_is_no_answer(notes: dict[str, str], question: str) -> None:
    told = str((await ask(question, runner=tools(await vault(**notes)))).answer)
    assert told.startswith(UNSURE)


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


@pytest.mark.usefixtures("transactional_db")
async def test_a_second_question_makes_no_doubt_about_the_first() -> None:
    notes = {f"Thing {n}": f"The {n} was bought by Ada Bell.\n" for n in NAMES}
    notes["Gate"] = "The gate is locked at night by Kim Loe, because of the deer.\n"
    runner = tools(await vault(**notes))
    ran = await ask("Why is the gate closed at night? Who bought the things?", runner=runner)
    assert "because of the deer" in ran.answer.split("Who bought")[0]
    assert not ran.answer.split("\n\n")[1].startswith(UNSURE)


def ask_of_many(words: int, lists: int) -> None:
    asked = analyse(" ".join(f"word{n}x" for n in range(words)) + "?")
    note = "".join(f"## money {n}\n\n- pot {n}\n- jar {n}\n\n" for n in range(lists))
    passages = parse_note("a.md", enumerate(note.split("\n"), start=1))
    PassageScorer(asked, passages).sort(passages)
    evidence = Evidence(ParsedRequest())
    evidence.notes = {"a.md": passages}
    find_lists(PassageScorer(analyse("Which pots of money are there?"), passages), evidence)


def test_the_work_grows_with_the_headed_lists_and_the_words_of_a_question() -> None:
    assert_in_proportion(lambda lists: ask_of_many(400, lists), int, size=2_500)
    assert_in_proportion(lambda words: ask_of_many(words, 300), int, size=400)


@pytest.mark.parametrize(
    ("question", "note", "is_like"),
    [
        ("Wo liegen die Eierschalen?", "Nussschalen liegen hier.", True),
        ("When is the inspection?", "The collection is on 4 May.", False),
    ],
)
def test_the_last_word_of_a_compound_counts_in_german_alone(
    question: str, note: str, is_like: bool
) -> None:
    asked, passages = analyse(question), parse_note("a.md", [(1, note)])
    scorer = PassageScorer(asked, passages)
    word = stem(fold(asked.words[-1] if asked.german else asked.words[0]))
    assert (scorer.match(word, passages[0].stems) > 0) is is_like
