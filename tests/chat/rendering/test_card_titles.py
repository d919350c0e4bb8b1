"""Cards of the notes' tools have words for a name."""

import pytest

from agents.tools.registry import TOOLS
from chat.rendering.card_titles import TITLES, get_title


def test_every_tool_of_the_notes_has_words() -> None:
    assert {name for name, _ in TOOLS if name.startswith("vault_")} == set(TITLES)


@pytest.mark.parametrize("name", ["calculate", "vault_burn", "", "<b>"])
def test_any_other_tool_goes_by_its_name(name: str) -> None:
    assert get_title(name) == name
