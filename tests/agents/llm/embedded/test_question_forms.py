"""Ways in which people put a question, and what stands around it that is not asked for."""

import re

import pytest

from agents.core.stemming import stem
from agents.llm.embedded.analysis import analyse, analyse_all
from agents.llm.embedded.passages import parse_note
from agents.llm.embedded.phrases import ENGLISH, GERMAN
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.request import Exchange
from agents.llm.embedded.scoring import PassageScorer
from tests.agents.llm.embedded.fixtures import ask, tools, vault


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("Can you sum up the meeting of 25 June for me?", Kind.SUMMARY, ("meeting", "25", "June")),
        ("Give me a short overview of the decisions folder", Kind.SUMMARY, ("decisions",)),
        ("What is Tidewatch for, in short?", Kind.ABOUT, ("Tidewatch",)),
        ("What is the piece In good hands about?", Kind.ABOUT, ("good", "hands")),
        ("Could you please tell me who owns the radar?", Kind.WHO, ("owns", "radar")),
        ("Kannst du mir sagen, wer die Kasse führt?", Kind.WHO, ("Kasse", "führt")),
        ("Wie viele Beete sind gerade frei?", Kind.NUMBER, ("Beete", "frei")),
        ("What was on the to-do list of the theme?", Kind.LIST, ("todos", "theme")),
        ("Which books do I have notes about?", Kind.LIST, ("books",)),
        ("Who is the leader, Anna or Ben?", Kind.WHO, ("leader", "Anna", "Ben")),
        ("Was the order sent by Paul, or Mary?", Kind.YES_NO, ("order", "sent", "Paul", "Mary")),
        ("Wer ist der Leiter, Anna oder Ben?", Kind.WHO, ("Leiter", "Anna", "Ben")),
        ("Can you swim in the lake?", Kind.YES_NO, ("swim", "lake")),
        ("What did Ada pay for the kiln?", Kind.NUMBER, ("Ada", "pay", "kiln")),
        ("Wie lang ist das Seil?", Kind.NUMBER, ("lang", "Seil")),
        ("Wie heißt der Chor?", Kind.WHO, ("heißt", "Chor")),
    ],
)
def test_what_is_asked_is_seen_whatever_stands_around_it(
    text: str, kind: Kind, words: tuple[str, ...]
) -> None:
    question = analyse(text)
    assert (question.kind, question.words) == (kind, words)


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("How do yeast and malt differ?", ("yeast", "malt")),
        ("How is yeast different from malt?", ("yeast", "malt")),
        ("How does yeast differ from malt?", ("yeast", "malt")),
        ("What distinguishes yeast from malt?", ("yeast", "malt")),
        ("Which is older, yeast or malt?", ("yeast", "malt")),
        ("Was ist teurer, die Pacht oder das Wasser?", ("die Pacht", "das Wasser")),
        ("Wie unterscheiden sich Hefe und Malz?", ("Hefe", "Malz")),
        ("Compare yeast with malt", ("yeast", "malt")),
    ],
)
def test_two_things_are_compared_in_many_words(text: str, sides: tuple[str, str]) -> None:
    question = analyse(text)
    assert (question.kind, question.sides) == (Kind.COMPARE, sides)


def test_a_short_second_part_leans_on_the_first() -> None:
    first, second = analyse_all("Who wrote The Machine Stops, and in which year?")
    assert (first.kind, second.kind) == (Kind.WHO, Kind.WHEN)
    assert {"Machine", "Stops"} <= {*second.context}


def test_a_part_that_says_enough_stands_by_itself() -> None:
    _, second = analyse_all("Who wrote the novel, and who painted the cover of the album?")
    assert second.context == ()


def test_only_the_first_word_after_its_subject_is_the_verb() -> None:
    weights = analyse("What does Kevin Kelly advise on buying tools?").weights
    assert weights["tool"] == 1.0 > weights["advis"]


@pytest.mark.parametrize("blank", [" ", ", ", "?! "])
def test_a_long_run_of_marks_is_no_work(blank: str) -> None:
    assert analyse(f"Who{blank * 900}please").kind is Kind.WHO


VAULT = {
    "Rules": "# Rules\n\nAda may spend up to 1,000 euros without asking.\n\n"
    "The shed costs 25 euros a month.\n",
    "2026-09-12 Talk with Bo": "# Talk with Bo\n\nWe discussed the tide and its tables.\n",
    "2026-06-12 Cem": "# Cem\n\nWir sprachen über Bienen.\n",
    "2026-07-12 Cem": "# Cem\n\nWir sprachen über Wespen.\n",
    "Trip": "---\nstart: 2026-05-04\ncreated: 2026-01-01\n---\n# Trip\n\nThe boat is slow.\n",
    "Levels": "# Levels\n\n| level | who is told |\n|---|---|\n| yellow | the page |\n"
    "| red | the master by call |\n\nYellow and red were agreed in May.\n",
    "Flood": "# Flood\n\n1. The master answers the call with OK.\n"
    "2. After twenty minutes the deputy is called.\n3. The phone rings.\n",
    "Sail": "# Sail\n\n## To-do\n\n- [x] Mend the sail\n- [ ] Buy rope\n",
    "Jam": "# Plum jam\n\n1. Wash the jars.\n2. Stone the plums with a knife.\n"
    "3. Boil it all.\n4. Fill it in.\n5. Let it cool.\n",
}


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("Can Ada spend 800 euros without asking anyone?", ["Ada may spend up to 1,000"]),
        ("What do we pay for the shed every month?", ["The shed costs 25 euros"]),
        ("What did we discuss with Bo in September 2026?", ["We discussed the tide"]),
        ("Was wurde im Juni 2026 mit Cem besprochen?", ["Wir sprachen über Bienen"]),
        ("When was the trip?", ["start: 2026-05-04"]),  # not when its note was made
        ("What is the difference between yellow and red?", ["yellow · who", "red · who is told"]),
        (
            "What happens if the master does not answer the call?",
            ["1. The master answers", "2. After twenty minutes"],
        ),
        ("What is on the to-do list of Sail?", ["[x] Mend the sail", "[ ] Buy rope"]),
        ("Which tasks are there for Sail?", ["[x] Mend the sail", "[ ] Buy rope"]),
        ("How do I make plum jam?", ["1. Wash the jars.", "2. Stone the plums"]),
        ("How do I stone the plums for the jam?", ["2. Stone the plums", "3. Boil"]),
    ],
)
async def test_the_answer_begins_with_what_is_asked_for(
    transactional_db: None, question: str, lines: list[str]
) -> None:
    ran = await ask(question, runner=tools(await vault(**VAULT)))
    told = [re.sub("^- ", "", line) for line in ran.answer.split("\n")]
    shown = [line for line in told if line and not line.startswith(("#", "*", "About"))]
    assert [line[: len(start)] for line, start in zip(shown, lines, strict=False)] == lines


def test_what_was_said_before_and_no_passage_has_hardly_counts() -> None:
    before = Exchange("What would an old friend recommend on buying?", "")
    question = analyse("And about hiring?", [before])
    passages = parse_note("a.md", [(1, "Buying: take the cheapest."), (3, "Hire for aptitude.")])
    weights = PassageScorer(question, passages).weights
    assert weights["recommend"] < weights["buy"] < weights["hir"]


ABSENCES = {
    "Kiln": "# Kiln\n\nThe kiln is a drum of 60 by 80 cm on a brick plinth.\n\n"
    "The guild in Orso uses it for a show of stoneware. Bowls crack by up to 4 mm in the kiln.\n\n"
    "Who is the warden of Edda Holm when a firing goes on at night?\n\n"
    "The smith has promised to lend us an anvil.\n\nA few years ago Ada bought a costly wheel.\n",
    "Sites": "# Sites\n\n| site | ledge above sea | mast | keeper |\n|---|---|---|---|\n"
    "| Orso | 3.9 m | mill roof | Edda Holm |\n| Quin | 4.2 m | school | Ivo Lund |\n",
    "Töpferei": "# Töpferei\n\nDer Ofen steht an der Wand, in drei Kammern.\n\n"
    "Ein Krug kostet 9 Euro. Wir bauen ein Becken für 600 Liter Regenwasser.\n",
    "Mast": "# Mast\n\nIt shows the wind and is not meant for steering. Pilots are told so on each "
    "chart.\n\nPeel and bones do not belong into the glaze.\n",
}


@pytest.mark.parametrize(
    "question",
    [
        "How tall is the plinth of the kiln?",  # its drum is measured, three ways
        "How heavy is the kiln?",
        "How many bowls are in the kiln?",
        "How tall is the mill in Orso?",  # the cell of another column has a length
        "Who is judging the show of stoneware in Orso?",
        "Who painted the mill roof in Orso?",
        "Who is the warden of Edda Holm?",  # the note asks it as well
        "Where does Ivo Lund live?",  # a cell that names him is no place
        "What did Ada pay for the wheel?",
        "Which wheel did Ada buy?",
        "What is the phone number of Edda Holm?",
        "Wie hoch ist die Wand hinter dem Ofen?",
        "Wie viele Krüge wurden verkauft?",
        "Wer hat den Krug bemalt?",
    ],
)
async def test_what_is_no_such_answer_is_not_given_as_one(
    transactional_db: None, question: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**ABSENCES)))
    assert ran.answer.startswith(
        tuple(said[key] for said in (ENGLISH, GERMAN) for key in ("nearest", "nothing"))
    )


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Who lends us an anvil?", "The smith has promised"),
        ("Where is the mast in Quin fixed?", "mast: school"),
        ("Who is the keeper in Orso?", "Edda Holm"),
        ("How big is the drum of the kiln?", "60 by 80 cm"),
        ("Can pilots use the mast for steering?", "not meant for steering"),
        ("Does peel or rind belong into the glaze?", "Peel and bones do not"),
    ],
)
async def test_what_has_the_look_of_an_answer_is_one(
    transactional_db: None, question: str, fact: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**ABSENCES)))
    assert fact in ran.answer
    assert ENGLISH["nearest"] not in ran.answer


AMOUNTS = {
    "Chor": "# Chor\n\nJan Becker leitet den Chor. 212 Stimmen wurden gezählt.\n\n"
    "Die Kammer brennt bei 900 °C. Der Schmied leiht uns einen Amboss.\n",
}


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Wer leitet den Chor?", "Jan Becker"),
        ("Wie viele Stimmen wurden gezählt?", "212"),
        ("Wie viel Grad hat die Kammer?", "900"),
        ("Wer leiht uns einen Amboss?", "Der Schmied"),
    ],
)
async def test_german_names_and_amounts_are_seen(
    transactional_db: None, question: str, fact: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**AMOUNTS)))
    assert fact in ran.answer
    assert GERMAN["nearest"] not in ran.answer


def test_another_name_takes_the_place_of_the_one_before() -> None:
    before = Exchange("Who is the keeper in Orso?", "- Orso · keeper: Edda Holm [Sites.md:5]")
    assert analyse("And who is it in Quin?", [before]).context == ("keeper",)
    assert "Edda" in analyse("And who helps her?", [before]).context
    before = Exchange("How many bowls did Ada sell in 2026?", "- Ada sold 40. [Sales.md:5]")
    assert {"Ada", "bowls"} <= {*analyse("And in 2027?", [before]).context}
    assert "2026" not in analyse("And in 2027?", [before]).context


def test_signs_are_known_by_their_names() -> None:
    (passage,) = parse_note("a.md", [(1, "Fire it at 900 °C, with 5 % sand, for 20 €.")])
    assert {stem("degrees"), stem("percent"), stem("euros")} <= passage.stems


async def test_a_note_without_sections_is_summed_up_by_its_paragraphs_before_its_properties(
    transactional_db: None,
) -> None:
    properties = "".join(
        f"{name}: some {name}\n" for name in ("kind", "maker", "shop", "size", "use")
    )
    text = "Clay rests. It hates haste.\n\nWater leads.\nIt\nruns.\n\nFire ends it.\n"
    ran = await ask(
        "Summarise the note Patience",
        runner=tools(await vault(Patience=f"---\n{properties}---\n\n{text}")),
    )
    told = [ran.answer.index(part) for part in ("Clay rests", "Water leads", "Fire ends", "maker")]
    assert told == sorted(told)
    assert "runs" not in ran.answer


async def test_the_list_behind_for_example_is_what_the_sentence_before_it_speaks_of(
    transactional_db: None,
) -> None:
    text = "# Workshop\n\nOur glazes bear odd names. For example:\n\n- Wet slate\n- Old moss\n"
    notes = await vault(Workshop=text)
    for question in ("What are some examples of glaze names?", "Which names do our glazes bear?"):
        ran = await ask(question, runner=tools(notes))
        assert "- Wet slate" in ran.answer
        assert "- Old moss" in ran.answer
        assert ENGLISH["nearest"] not in ran.answer
