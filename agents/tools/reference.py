"""Writes the reference of the tools: `python -m agents.tools > docs/tools.md`."""

import sys

from agents.tools.catalogue import TOOLS
from agents.tools.definition import Tool


def render_reference() -> str:
    """Write down every tool that comes with Oracle, with its arguments, as Markdown."""
    head = "# Tools\n\nWritten by `make docs` from the tools themselves. Do not edit.\n"
    return head + "".join(
        _render_tool(tool) for _, tool in TOOLS if tool.function.__module__.startswith("agents.")
    )


def _render_tool(tool: Tool) -> str:
    parameters = tool.schema["function"]["parameters"]
    required = set(parameters.get("required", ()))
    rows = [
        f"| `{name}` | {_format_type(schema)} | {'yes' if name in required else 'no'} "
        f"| {schema.get('description', '')} |"
        for name, schema in parameters.get("properties", {}).items()
    ]
    table = ["| argument | type | required | meaning |", "|---|---|---|---|", *rows, ""]
    time = "keeps its own time" if tool.timeout is None else f"at most {tool.timeout:g} s"
    facts = f"{'Writes' if tool.writes else 'Reads only'}; {time}."
    return "\n".join(
        ["", f"## {tool.name}", "", tool.description, "", facts, "", *(table if rows else [])]
    )


def _format_type(schema: dict[str, object]) -> str:
    options = schema.get("anyOf")
    if isinstance(options, list):
        return " or ".join(_format_type(option) for option in options)
    return str(schema.get("type", "any"))


if __name__ == "__main__":
    sys.stdout.write(render_reference())
