"""The tools that are installed."""

import pytest

import agents.tools.builtin  # noqa: F401  importing registers
from agents.core.registry import NotRegistered, RegistrationError
from agents.tools import registry
from agents.tools.definition import Tool


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone afterwards."""
    monkeypatch.setattr(registry.TOOLS, "_entries", dict(registry.TOOLS._entries))
    monkeypatch.setattr(registry.TOOLS, "_closed", False)


async def lamp(on: bool) -> str:
    """Switch the lamp."""
    return "on" if on else "off"


async def test_a_registered_function_stays_as_it_is() -> None:
    assert registry.tool(writes=True, timeout=3)(lamp) is lamp
    tool = registry.get("lamp")
    assert isinstance(tool, Tool)
    assert (tool.writes, tool.timeout) == (True, 3)
    assert "lamp" in registry.names()
    assert await lamp(True) == "on"


def test_a_duplicate_is_refused() -> None:
    registry.tool()(lamp)
    with pytest.raises(RegistrationError, match="tool 'lamp' is registered twice"):
        registry.tool()(lamp)


def test_both_functions_of_a_duplicate_are_named() -> None:
    async def think(thought: str) -> str:
        """Think again."""
        return thought

    with pytest.raises(RegistrationError, match=r"by agents\.tools\.builtin\.think and by tests\."):
        registry.tool()(think)


def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NotRegistered, match=r"no tool 'door'.*calculate"):
        registry.get("door")


def test_a_latecomer_is_refused() -> None:
    registry.TOOLS.close()
    with pytest.raises(RegistrationError, match="too late"):
        registry.tool()(lamp)


def test_a_function_that_is_no_tool_is_refused_where_it_is_written() -> None:
    def silent(x: int) -> int:
        return x

    with pytest.raises(TypeError):
        registry.tool()(silent)
    assert "silent" not in registry.names()


@pytest.mark.parametrize("name", ["think", "current_time", "calculate", "delegate_librarian"])
def test_shipped_tools_are_described_to_the_model(name: str) -> None:
    tool = registry.get(name)
    assert tool.schema["function"]["name"] == name
    assert tool.description
    for field in tool.schema["function"]["parameters"]["properties"].values():
        assert field["description"]


def test_shipped_plain_tools_only_read() -> None:
    plain = ("think", "current_time", "calculate", "delegate_librarian")
    assert not any(registry.get(name).writes for name in plain)
