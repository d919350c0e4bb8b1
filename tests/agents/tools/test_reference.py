"""The reference of the tools, as `python -m agents.tools` writes it."""

from agents.tools.catalogue import TOOLS
from agents.tools.reference import render_reference


def test_every_tool_and_every_argument_is_in_the_reference() -> None:
    text = render_reference()
    shipped = [tool for _, tool in TOOLS if tool.function.__module__.startswith("agents.")]
    assert len(shipped) > 5
    for tool in shipped:
        _, _, entry = text.partition(f"\n## {tool.name}\n")
        entry, _, _ = entry.partition("\n## ")
        assert tool.description in entry
        for argument in tool.schema["function"]["parameters"]["properties"]:
            assert f"| `{argument}` |" in entry


def test_the_reference_says_what_writes_and_how_long_it_takes() -> None:
    text = render_reference()
    assert "Reads only; at most 5 s." in text
    assert "keeps its own time" in text


def test_the_reference_leaves_out_what_packages_bring() -> None:
    assert "check_claim" in TOOLS
    assert "check_claim" not in render_reference()
