"""The reference of the tools, as `python -m agents.tools` writes it."""

from agents.tools.catalogue import TOOLS
from agents.tools.reference import render_reference


def test_every_tool_and_every_argument_is_in_the_reference() -> None:
    text = render_reference()
    for name, tool in TOOLS:
        _, _, entry = text.partition(f"\n## {name}\n")
        entry, _, _ = entry.partition("\n## ")
        assert tool.description in entry
        for argument in tool.schema["function"]["parameters"]["properties"]:
            assert f"| `{argument}` |" in entry


def test_the_reference_says_what_writes_and_how_long_it_takes() -> None:
    text = render_reference()
    assert "Reads only; at most 5 s." in text
    assert "keeps its own time" in text
