"""A tool is a typed function with a docstring: the rest follows."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agents.core.ports import Service, ToolContext
from agents.tools.definition import DEFAULT_TIMEOUT, ToolFailed, define


class Vault(Service):
    pass


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Span(BaseModel):
    first: int
    last: int = 9


async def search(
    query: Annotated[str, Field(description="What to look for.", min_length=1)],
    kind: Literal["note", "thread"] = "note",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    tags: list[str] | None = None,
    *,
    vault: Vault,
    context: ToolContext,
) -> str:
    """Search the notes.

    Best hits first.
    """
    return query


def test_name_and_description_come_from_the_function() -> None:
    tool = define(search)
    assert tool.name == "search"
    assert tool.description == "Search the notes.\n\nBest hits first."
    assert (tool.writes, tool.timeout, tool.is_async) == (False, DEFAULT_TIMEOUT, True)


def test_writing_and_time_are_said_when_it_is_defined() -> None:
    tool = define(search, writes=True, timeout=None)
    assert (tool.writes, tool.timeout) == (True, None)


def test_the_schema_comes_from_the_types() -> None:
    schema = define(search).schema
    assert schema["type"] == "function"
    function = schema["function"]
    assert function["name"] == "search"
    assert function["description"].startswith("Search the notes.")
    parameters = function["parameters"]
    assert parameters["type"] == "object"
    assert parameters["additionalProperties"] is False
    assert parameters["required"] == ["query"]
    assert parameters["properties"] == {
        "query": {"type": "string", "description": "What to look for.", "minLength": 1},
        "kind": {"type": "string", "enum": ["note", "thread"], "default": "note"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
        "tags": {
            "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
            "default": None,
        },
    }


def test_what_is_handed_in_is_not_the_models_business() -> None:
    tool = define(search)
    assert dict(tool.injected) == {"vault": Vault, "context": ToolContext}
    assert "Vault" not in str(tool.schema)
    with pytest.raises(ToolFailed):
        tool.validate({"query": "x", "vault": {}})


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    def clock() -> str:
        """Tell the time."""
        return ""

    tool = define(clock)
    assert tool.schema["function"]["parameters"]["properties"] == {}
    assert tool.validate({}) == {}
    assert not tool.is_async


def test_enums_and_models_are_handed_over_as_such() -> None:
    def paint(colour: Colour, span: Span) -> str:
        """Paint it."""
        return ""

    values = define(paint).validate({"colour": "red", "span": {"first": 1}})
    assert values == {"colour": Colour.RED, "span": Span(first=1)}


def test_defaults_are_filled_in() -> None:
    assert define(search).validate({"query": "x"}) == {
        "query": "x",
        "kind": "note",
        "limit": 10,
        "tags": None,
    }


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": 3}, "query"),
        ({"query": "x", "kind": "song"}, "kind"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": "many"}, "limit"),
        ({"query": "x", "tags": [1]}, "tags.0"),
        ({"query": "x", "page": 2}, "page"),
    ],
    ids=str,
)
def test_a_refusal_names_the_tool_the_field_and_what_it_takes(
    arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(ToolFailed) as refusal:
        define(search).validate(arguments)
    message = str(refusal.value)
    assert "do not fit search" in message
    assert f"{field}: " in message
    assert '"query"' in message
    assert "pydantic" not in message


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ToolFailed, match=r"query: .*limit: "):
        define(search).validate({"limit": 99})


# -- functions that cannot be tools ---------------------------------------------------------------


def test_a_function_without_a_docstring_is_no_tool() -> None:
    def silent(query: str) -> str:
        return query

    with pytest.raises(TypeError, match="'silent' has no docstring"):
        define(silent)


def test_a_blank_docstring_is_none() -> None:
    def silent(query: str) -> str:
        return query

    silent.__doc__ = "  \n "
    with pytest.raises(TypeError, match="no docstring"):
        define(silent)


def test_a_parameter_without_a_type_is_refused() -> None:
    def loose(query):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  what is refused here
        """Find it."""

    with pytest.raises(TypeError, match="'loose': parameter 'query' has no type"):
        define(loose)


def test_parameters_that_cannot_be_given_by_name_are_refused() -> None:
    def any_number(*queries: str) -> str:
        """Find them."""
        return ""

    def any_name(**queries: str) -> str:
        """Find them."""
        return ""

    def by_position(query: str, /) -> str:
        """Find it."""
        return query

    for function in (any_number, any_name, by_position):
        with pytest.raises(TypeError, match=function.__name__):
            define(function)
