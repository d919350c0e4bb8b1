"""What cards say of the calls of tools: which of their arguments tell most."""

import json
import re
from collections.abc import Mapping
from typing import Any

from agents.core.sanitize import truncate
from agents.web.tool_titles import get_title

ARGUMENT_CHARS = 80
_TOOLS_USED = re.compile(r"(?<=^Tools used: ).*", re.MULTILINE)
_NAME = re.compile(r"\w+")
_TELLING: dict[str, tuple[str, ...]] = {
    "calculate": ("expression",),
    "delegate_librarian": ("task",),
    "find_definition": ("symbol", "scope"),
    "find_references": ("symbol",),
    "get_repo_map": ("scope",),
    "notify_self": ("message", "when"),
    "search_code": ("queries", "language"),
    "think": ("thought",),
    "thread_list": ("status",),
    "thread_push": ("thread",),
    "thread_read": ("thread",),
    "thread_seek": ("queries",),
    "vault_create_index": ("folder",),
    "vault_list": ("folder",),
    "vault_move": ("old_path", "new_path"),
    "vault_read": ("path", "lines"),
    "vault_search": ("queries", "tag", "folder"),
    "vault_write": ("path",),
    "web_fetch": ("url",),
}


def name_tools(explanation: str) -> str:
    """Return what a run says of its work, with the titles of the tools that it used."""
    return _TOOLS_USED.sub(
        lambda line: _NAME.sub(lambda name: get_title(name[0]), line[0]), explanation
    )


def summarize_arguments(tool: str, arguments: Mapping[str, Any] | str) -> str:
    """Return the gist of a call's arguments: what tells most, the one value, or all by name."""
    if isinstance(arguments, str):
        text = arguments
    elif tool == "notify_self":
        text = _summarize_note(arguments)
    elif telling := _pick_telling(tool, arguments):
        text = (" → " if tool == "vault_move" else ", ").join(map(_format_value, telling))
    elif len(arguments) == 1 and isinstance(next(iter(arguments.values())), str | list):
        text = _format_value(next(iter(arguments.values())))
    else:
        text = ", ".join(f"{name}: {_format_value(value)}" for name, value in arguments.items())
    return truncate(" ".join(text.split()), ARGUMENT_CHARS)


def _summarize_note(arguments: Mapping[str, Any]) -> str:
    """Return a note with its moment in words, where it is not the next turn."""
    message, when = (_format_value(arguments.get(name, "")) for name in ("message", "when"))
    word, _, rest = when.partition(":")
    if word in ("", "next_turn"):
        return message
    if word == "after_tool":
        return f"{message} (after {get_title(rest.strip())})"
    turns = f"{rest} turn{'' if rest == '1' else 's'}"
    return f"{message} ({f'after {turns}' if word == 'after_turns' else f'when {when}'})"


def _pick_telling(tool: str, arguments: Mapping[str, Any]) -> list[Any]:
    return [arguments[name] for name in _TELLING.get(tool, ()) if arguments.get(name)]


def _format_value(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
