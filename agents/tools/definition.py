"""A tool is a typed function with a docstring: schema, validation and documentation follow.

    @tool(timeout=10)
    async def vault_read(path: Annotated[str, Field(description="...")], vault: Vault) -> str:
        '''Read one note.'''

Parameters typed as ToolContext or as a Service are handed in by the executor; the model sees the
others. A plain `def` runs in a thread.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from agents.core.behaviours.vocabulary import ToolParameter
from agents.core.chunks import SourceRef
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind, ValueKind
from agents.core.loop import AskMode
from agents.core.messages import SourceVersions, ToolSchema
from agents.core.ports import Service, ToolContext

DEFAULT_TIMEOUT = 30.0
_KINDS: Mapping[str, ValueKind] = {
    "string": TEXT,
    "integer": NUMBER,
    "number": NUMBER,
    "boolean": TRUTH,
    "array": ListKind(ANY),
    "object": MapKind(ANY),
}
"""What the types of a schema are to a behaviour."""


class ToolFailed(Exception):
    """The tool could not do it. The message is for the model: what was wrong, what to do."""


class ToolTimedOut(ToolFailed):
    """The tool took longer than it may, and was cut."""


class ToolRefused(Exception):
    """The tool may not do it. The message is for the model. It is no failure of the tool."""

    def __init__(self, message: str, versions: SourceVersions = ()) -> None:
        super().__init__(message)
        self.versions = versions


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A result with the sources it was taken from."""

    content: str
    sources: tuple[SourceRef, ...] = ()
    item_count: int = 0
    """How many things the content lists, where it lists any."""
    versions: SourceVersions = ()
    """In what state sources were found or left: who reads one again is told that it changed."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function as the agent sees it. Build it with `define`."""

    name: str
    description: str
    function: Callable[..., Any]
    arguments: type[BaseModel]
    injected: Mapping[str, type[Any]]
    schema: ToolSchema
    writes: bool
    asks: AskMode
    """When it waits for a person's yes, whatever people have set: they can only be stricter."""
    timeout: float | None
    """Seconds, or None for a tool that keeps its own time."""
    is_async: bool
    acknowledges: bool
    """Whether its result only says that the call was taken, whatever the call was about."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the function wants them, or raise ToolFailed with the reason."""
        try:
            values = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolFailed(_describe_problems(self, error)) from None
        return {name: getattr(values, name) for name in self.arguments.model_fields}


def define(
    function: Callable[..., Any],
    *,
    writes: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    asks: AskMode = "never",
    acknowledges: bool = False,
) -> Tool:
    """Return the tool that a function is, or raise TypeError, which shows at import."""
    name = function.__name__
    description = inspect.cleandoc(function.__doc__ or "").strip()
    if not description:
        raise TypeError(f"tool {name!r} has no docstring: the model would not know what it is for")
    hints = get_type_hints(function, include_extras=True)
    injected: dict[str, type[Any]] = {}
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if hint is None:
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} has no type")
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name!r}: parameter {parameter.name!r} cannot be given by name")
        if isinstance(hint, type) and issubclass(hint, ToolContext | Service):
            injected[parameter.name] = hint
        else:
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hint, default)
    arguments = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return Tool(
        name=name,
        description=description,
        function=function,
        arguments=arguments,
        injected=injected,
        schema=_build_schema(name, description, arguments),
        writes=writes,
        asks=asks,
        timeout=timeout,
        is_async=inspect.iscoroutinefunction(function),
        acknowledges=acknowledges,
    )


def _build_schema(name: str, description: str, arguments: type[BaseModel]) -> ToolSchema:
    parameters = arguments.model_json_schema()
    parameters.pop("title", None)
    for prop in parameters.get("properties", {}).values():
        prop.pop("title", None)
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def read_parameters(tool: Tool) -> dict[str, ToolParameter]:
    """Return what a tool takes, by its names."""
    schema = tool.schema["function"]["parameters"]
    required = schema.get("required", ())
    return {
        name: ToolParameter(
            _KINDS.get(about.get("type"), ANY),
            name in required,
            partial(_find_fault, tool.arguments, name),
        )
        for name, about in schema.get("properties", {}).items()
    }


def _find_fault(arguments: type[BaseModel], name: str, value: Any) -> str:
    """Return why one argument is refused, whatever the others are; empty if it is not."""
    try:
        arguments.model_validate({name: value})
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        return next((str(one["msg"]) for one in problems if one["loc"][:1] == (name,)), "")
    return ""


def _describe_problems(tool: Tool, error: ValidationError) -> str:
    lines = [
        f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_context=False)
    ]
    wanted = json.dumps(tool.schema["function"]["parameters"].get("properties", {}))
    return f"The arguments do not fit {tool.name}: {'; '.join(lines)}. It takes: {wanted}"
