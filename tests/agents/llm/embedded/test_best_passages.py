"""Which passage of several that have the words of a question is its answer."""

import pytest

from agents.llm.embedded.compose import compose
from agents.llm.embedded.evidence import Evidence
from agents.llm.embedded.question import analyse
from agents.llm.embedded.request import ParsedRequest, Step
from tests.agents.llm.embedded.fixtures import ask, tools, vault

UNSURE = "Nothing in the notes answers this directly"
MILL = {
    "mill": "# Mill\n\nA stone of the mill weighs 90 kilos. The miller came to see us in May. "
    "In all he grinds for 14 bakeries, and sells the rest of the flour on the market.\n\n"
    "## Starting\n\n1. Open the sluice.\n2. Release the wheel.\n\n"
    "Releasing the wheel before the sluice breaks a cog.\n",
    "yard": "# Yard\n\nBehind the mill lie 6 stones.\n",
}


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("How many stones does the mill have?", "Behind the mill lie 6 stones."),  # counts them
        ("What happens if I release the wheel before the sluice?", "Releasing the wheel"),
        ("What is on the market?", "The miller came to see us in May. In all he"),  # says who
    ],
)
async def test_the_first_line_is_about_what_is_asked(
    transactional_db: None, question: str, begins: str
) -> None:
    ran = await ask(question, runner=tools(await vault(**MILL)))
    assert UNSURE not in ran.answer
    assert next(s for s in ran.answer.split("\n") if s[:2] == "- ").startswith(f"- {begins}")


async def test_a_number_of_something_else_only_comes_close(transactional_db: None) -> None:
    notes = await vault(mill="# Mill\n\nThe bakers of the town pay 90 euros.\n")
    ran = await ask("How many bakers are in the town?", runner=tools(notes))
    assert UNSURE in ran.answer


@pytest.mark.parametrize("room", range(150, 400, 25))
def test_an_answer_that_is_cut_ends_in_a_passage(room: int) -> None:
    texts = [f"     1| The flour of mill {number} is fine." for number in range(4)]
    steps = [Step("vault_read", {"path": f"{n}.md"}, text) for n, text in enumerate(texts)]
    text = compose(
        [analyse("Is the flour fine?")], Evidence(ParsedRequest(steps=steps)), room, can_search=True
    )
    assert len(text) <= room
    assert text.split("\n\n")[-2].startswith("- The flour")


async def test_how_a_note_looks_is_not_said_of_it(transactional_db: None) -> None:
    notes = await vault(Rye="---\ncover: rye.jpg\nicon: bread\ncolour: brown\n---\n")
    ran = await ask("Summarise Rye", runner=tools(notes))
    assert "colour: brown" in ran.answer
    assert "rye.jpg" not in ran.answer
    assert "icon" not in ran.answer
