"""Questions about the sample project: the fact that must be in the answer, and where it is from."""

import re

import pytest

from tests.agents.llm.embedded.fixtures import ask, cited, talk, tools, vault

pytestmark = pytest.mark.usefixtures("sample")

FACTS = [
    ("When is the final report due?", ["15 December 2026"], {"plan/roadmap.md"}),
    ("Who supplies the radar heads?", ["Pegelbau"], {"people.md"}),
    ("How much does one complete gauge cost?", ["2,800 euros"], {"plan/budget.md"}),
    ("Why were ultrasonic sensors ruled out?", ["wind and spray"], {"decisions/0001-radar.md"}),
    ("Why radar instead of pressure sensors?", ["mussels"], {"decisions/0001-radar.md"}),
    ("Where is the gateway in Kesh Bay?", ["church tower"], {"field/harbours.md"}),
    ("Who owns the data platform?", ["Priya Raman"], {"people.md"}),
    ("How long does the battery run alone?", ["19 days"], {"decisions/0003-power.md"}),
    ("How often is a gauge calibrated?", ["once a year in May"], {"hardware/gauge.md"}),
    ("When was the quay in Port Ellary flooded worst?", ["9 December 2024"], {"field/harbours.md"}),
    ("What is the licence of the data?", ["CC BY 4.0"], {"data/platform.md"}),
    ("Where are the backups kept?", ["in Port Ellary"], {"data/platform.md"}),
    ("Below which voltage does the gauge stop?", ["11.4 volts"], {"decisions/0003-power.md"}),
    ("Is there mobile coverage in Kesh Bay?", ["no mobile coverage"], {"field/harbours.md"}),
    ("What did Captain Moss ask for?", ["text messages", "rehearsal"], {"meetings/2026-04-16.md"}),
    ("What went wrong in Port Ellary?", ["97 %", "canister"], {"field/installation.md"}),
    ("Why is Sandholm at risk?", ["listed monument", "permit"], {"plan/roadmap.md"}),
    ("Tell me about Inver Skell", ["asked to join", "no money for it"], {"questions.md"}),
]  # fmt: skip
COMBINED = [
    (
        "Who is the treasurer and how much may Mara spend alone?",
        ["Edwin Pryce", "1,000 euros"],
        {"plan/budget.md"},
    ),
    (
        "Who carries the on-call phone and when is the alarm rehearsal?",
        ["Priya", "27 August 2026"],
        {"people.md", "plan/roadmap.md"},
    ),
    (
        "What tasks does Jonas have?",
        ["permit for Sandholm", "fuel canister"],
        {"meetings/2026-04-16.md", "meetings/2026-06-25.md"},
    ),
    (
        "Compare LoRaWAN and NB-IoT",
        ["fiftieth of the energy", "no coverage in two of three harbours"],
        {"decisions/0002-lorawan.md"},
    ),
]
LISTS = [
    ("What are the open questions?", ["red alarm", "water temperature"], {"questions.md"}),
    ("Who are the harbour masters?", ["Moss", "Kerr", "Aaberg"], {"field/harbours.md"}),
    ("Which milestones are planned?", ["Kesh Bay", "Final report"], {"plan/roadmap.md"}),
    ("How is a firmware release made?", ["1. Merge", "6. Roll"], {"firmware/release-process.md"}),
    ("How do I put up a gauge?", ["1. Mark", "7. Connect"], {"field/installation.md"}),
    ("What should I bring when putting up a gauge?", ["torque wrench"], {"field/installation.md"}),
    ("Summarise the alarm runbook", ["text message", "silent"], {"ops/alarm-runbook.md"}),
    ("summarise plan/budget.md", ["84,000 euros", "1,000 euros"], {"plan/budget.md"}),
    ("Where is the on-call phone mentioned?", ["rings"], {"people.md", "ops/alarm-runbook.md"}),
]
GERMAN = [
    ("Wie lange dauert die Garantie auf die Radarköpfe?", ["drei Jahre"]),
    ("Wann wird der vierte Radarkopf geliefert?", ["3. Juli 2026"]),
    ("Wer ist für die Firmware verantwortlich?", ["Tomasz"]),
    ("Was kostet ein Ersatzkopf?", ["1.150 Euro"]),
]


@pytest.mark.parametrize(("question", "facts", "paths"), [*FACTS, *COMBINED, *LISTS])
async def test_the_answer_has_the_fact_and_cites_it(
    question: str, facts: list[str], paths: set[str]
) -> None:
    ran = await ask(question)
    assert [fact for fact in facts if fact not in ran.answer] == []
    assert paths <= cited(ran.answer)
    assert ran.answer.endswith(
        "Answered without a language model: these are passages of your notes."
    )
    assert ran.reason == "completed"


@pytest.mark.parametrize(("question", "facts"), GERMAN)
async def test_a_german_question_gets_its_answer_in_german_phrases(
    question: str, facts: list[str]
) -> None:
    ran = await ask(question)
    assert [fact for fact in facts if fact not in ran.answer] == []
    assert "Ohne Sprachmodell beantwortet" in ran.answer


@pytest.mark.parametrize(
    ("questions", "fact"),
    [
        (["When does the second gauge go up?", "what about the third?"], "9 September 2026"),
        (["When does the third gauge go up?", "why?"], "listed monument"),
        (["Does the gauge use mains power?", "why not?"], "licensed electrician"),
        (["Who supplies the radar heads?", "what discount did they give us?"], "12 %"),
        (["Was kostet ein Ersatzkopf?", "und wie lange gilt der Rabatt?"], "31. Dezember 2026"),
        (["When is the alarm rehearsal?", "and who owns it?"], "Priya"),
        (["Who owns the data platform?", "who stands in for the project lead in July?"], "Ines"),
    ],
)
async def test_a_follow_up_leans_on_what_was_said(questions: list[str], fact: str) -> None:
    ran = await talk(*questions)
    assert fact in ran.answer


async def test_the_second_one_is_the_second_thing_that_was_quoted() -> None:
    ran = await talk("What are the open questions?", "what about the second one?")
    assert "Nils Aaberg" in ran.answer


async def test_what_is_nowhere_is_not_found_and_the_answer_says_what_was_looked_for() -> None:
    ran = await ask("What is the capital of France?")
    assert "I found nothing about this in the notes. I looked for: “capital France”" in ran.answer
    assert cited(ran.answer) == set()


async def test_what_was_looked_for_is_told_in_the_words_of_the_question() -> None:
    ran = await ask("Wer leitet die Mondbasis?")
    assert "Gesucht habe ich nach: „leitet Mondbasis“." in ran.answer


async def test_a_follow_up_on_nothing_found_does_not_look_for_the_words_that_said_so() -> None:
    ran = await talk("Wer leitet die Mondbasis?", "Warum?")
    assert "Dazu" not in str([call.arguments for call in ran.record.calls.values()])


async def test_what_only_comes_near_is_not_called_an_answer() -> None:
    ran = await ask("Who is the president of the university in Tarn?")
    assert ran.answer.startswith("Nothing in the notes answers this directly; these come closest:")


async def test_a_passage_that_needs_its_heading_is_shown_with_it() -> None:
    ran = await ask("Which harbour has the lowest quay?")
    assert "The quay is low and faces west" in ran.answer
    assert "### The three harbours · Kesh Bay" in ran.answer


async def test_a_sentence_with_a_pronoun_brings_the_one_before_it() -> None:
    ran = await ask("Who designed the gauge?")
    assert "with the radar head on an arm above the water. Ines designed it" in ran.answer


async def test_notes_are_listed_by_folder() -> None:
    ran = await ask("List all notes in meetings")
    assert cited(ran.answer) == {
        "meetings/2026-04-16.md",
        "meetings/2026-05-07-pegelbau.md",
        "meetings/2026-06-25.md",
    }


async def test_other_tools_are_used_where_they_fit() -> None:
    ran = await ask("What is (3 + 4) * 2 ** 8, and what time is it?")
    assert "1792" in ran.answer
    assert {call.name for call in ran.record.calls.values()} == {"calculate", "current_time"}


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Hello!", "Ask me about your notes"),
        ("Good morning, how are you?", "Ask me about your notes"),
        ("ok, thank you very much", "You are welcome."),
        ("Danke!", "Gern geschehen."),
    ],
)
async def test_a_greeting_is_answered_without_a_search(said: str, answer: str) -> None:
    ran = await ask(said)
    assert answer in ran.answer
    assert ran.record.calls == {}


VAULT = {
    "Plugins/Slides": "To stop a presentation, press Escape.\n\nAny note will do.\n\n"
    "1. Search for the command.\n2. Press Enter to start a presentation.\n",
    "Plugins/Tabs": "Tabs hold notes.",
    "Help/Plugin security": "Code of others is not run.\n\n## Review\n\nEach is scanned.",
    "Help/Discounts": "We offer two types of discounts. They both give you 40% off.\n\n"
    "## Which banks do you support?\n\nAll banks of the country.\n\n"
    "## Support\n\n- Support reads mail of banks.\n",
}


@pytest.mark.parametrize(
    ("question", "begins", "without"),
    [
        ("How do I stop a presentation?", "To stop a presentation, press Escape.", "1. Search"),
        ("Summarise the note about plugin security.", "Code of others is not run.", "Tabs"),
        ("How much discount do you give?", "They both give you 40% off.", "country"),
        ("Which banks do you support?", "All banks of the country.", "mail"),
    ],
)
async def test_the_best_place_is_quoted(
    transactional_db: None, question: str, begins: str, without: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**VAULT)))
    assert begins in ran.answer
    assert without not in ran.answer
    assert "answers this directly" not in ran.answer


LONG_VAULT = {
    "bakery": "# Bakery\n\nThe ovens were repaired by a firm from the town.\n\n"
    "Loaves of rye keep for a number of days, as said in leaflet 12.\n\n"
    "One of the bakers tells the others who opens.\n\n"
    "## Are the loaves sliced?\n\nOnly on request.\n",
    "cellar": "# Cellar\n\nYeast and malt are cheap. Malt is dark.\n",
    "oven": "==========\nThe oven\n==========\n\nTo clean the oven, do this:\n\n"
    "#. Let it cool.\n\n#. Brush it out.\n",
}


@pytest.mark.parametrize(
    "question",
    [
        "Which firm from the town repaired the ovens of the bakery on Sunday?",  # not which day
        "How long do loaves of rye keep?",  # a unit without its number
        "How many bakers are there?",  # one of them is no number
        "Compare yeast and malt",  # named, but nothing is about either
    ],
)
async def test_what_lacks_a_word_or_a_number_is_shown_as_a_passage(
    transactional_db: None, question: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**LONG_VAULT)))
    assert "Nothing in the notes answers this directly" in ran.answer


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("Are the loaves sliced?", ["Only on request."]),  # asked by the very heading
        ("How do I clean the oven?", ["1. Let it cool.", "2. Brush it out."]),
    ],
)
async def test_headings_that_ask_and_steps_without_numbers_answer(
    transactional_db: None, question: str, lines: list[str]
) -> None:
    ran = await ask(question, runner=tools(await vault(**LONG_VAULT)))
    assert "Nothing in the notes answers this directly" not in ran.answer
    assert all(line in ran.answer for line in lines)


async def test_a_sentence_that_leads_to_a_list_brings_it(transactional_db: None) -> None:
    notes = await vault(shop="# Shop\n\nThe shop closes early:\n\n- on Sundays\n- before storms\n")
    ran = await ask("Does the shop close early?", runner=tools(notes))
    assert "The shop closes early:" in ran.answer
    assert "- before storms [shop.md:6]" in ran.answer


async def test_a_heading_that_says_half_of_another_thing_is_not_the_answer() -> None:
    ran = await ask("Wer ist im Team?")  # the notes have a section `Outside the team`
    assert not ran.answer.startswith("### People · Outside the team")


async def test_what_is_compared_is_not_searched_for_twice() -> None:
    ran = await ask("Compare Port Ellary and Kesh Bay")
    asked = [c.arguments for c in ran.record.calls.values() if c.name == "vault_search"]
    assert asked == [
        {"queries": ["Port Ellary"], "limit": 8},
        {"queries": ["Kesh Bay", "Port Kesh Bay"], "limit": 8},
    ]


PEOPLE_VAULT = {
    "Ada": "---\norg: Kite Club\nloc: Bergen\ncreated: 2024-05-06\n---\nAda flies kites.\n",
    "Trip": "---\nloc: Ada, Oslo\n---\nA trip with Ada.\n",
    "Advice": "---\nauthor: '[[Ada]]'\n---\n- Mend a torn sail at once.\n- Fly high.\n",
    "Plan": "# Plan\n\n| who | at the field |\n|---|---|\n| Ada | saturdays from 10:00 |\n\n"
    "## When the line breaks\n\nRun after it.\n\n## Tasks\n\n1. Ada: buy a line, by 3 May\n"
    "2. Ada: wait when the wind breaks down\n",
}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which organisation is Ada with?", "org: Kite Club"),  # a property by a shorter name
        ("Where is Ada?", "loc: Bergen"),  # a property is of its note
        ("What does Ada say about sails?", "Mend a torn sail at once."),  # in the note of an author
        ("When is Ada at the field?", "Ada · at the field: saturdays from 10:00"),  # a day is when
        ("What should I do when the line breaks?", "Run after it."),  # its own heading, not steps
        ("When did the work begin?", "I found nothing"),  # with no telling word each one counts
        ("How heavy is Ada?", "Nothing in the notes answers this directly"),  # none has a number
    ],
)
async def test_properties_headings_and_days_answer(
    transactional_db: None, question: str, first: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**PEOPLE_VAULT)))
    lines = (re.sub("^- ", "", line) for line in ran.answer.split("\n"))
    shown = [line for line in lines if line and not line.startswith(("#", "*"))]
    assert shown[0].startswith(first)


PLACES_VAULT = {
    "Shed": "# Shed\n\nThe shed holds 24 rakes and is locked.\n\n"
    "A rake was mended in May. The next repair is due in June.\n\n"
    "The dairy has agreed to lend its tractor. The tractor is old.\n\n"
    "Rakes are kept dry. Rust eats them.\n",
    "Film": "---\ncast: '[[Ada Moss]]'\ndirector: '[[Bo Lind]]'\nurl: https://film.example\n---\n",
    "Club": "# Club\n\nThe club meets in the hall. The club has a flag.\n\n"
    "The club was founded in May 2017.\n",
}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who lends us the tractor?", "The dairy has agreed"),  # has each word, though no name
        ("When is the next repair of a rake?", "The next repair is due"),  # of a rake: just before
        ("Why are rakes kept dry?", "Rakes are kept dry."),
        ("Which actor is in Film?", "cast: Ada Moss"),  # what people call a property
        ("When does the club open in the morning?", "Nothing in the notes"),  # one common word
        ("What is the weight of Film?", "Nothing in the notes"),  # nor any property of a note
    ],
)
async def test_what_a_passage_lacks_is_weighed(
    transactional_db: None, question: str, first: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**PLACES_VAULT)))
    lines = (re.sub("^- ", "", line) for line in ran.answer.split("\n"))
    shown = [line for line in lines if line and not line.startswith(("#", "*"))]
    assert shown[0].startswith(first)
    assert "Why" not in question or "Rust eats them." in ran.answer
