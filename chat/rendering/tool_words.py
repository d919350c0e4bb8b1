"""What cards call the tools that come with Oracle, and which of their arguments tell most."""

import json
import re
from collections.abc import Mapping
from typing import Any

from agents.core.sanitize import truncate

ARGUMENT_CHARS = 80
_TOOLS_USED = re.compile(r"(?<=^Tools used: ).*", re.MULTILINE)
_NAME = re.compile(r"\w+")
_WORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "calculate": ("Calculate", ("expression",)),
    "current_time": ("Time of day", ()),
    "delegate_librarian": ("Ask a librarian", ("task",)),
    "find_definition": ("Find definition", ("symbol", "scope")),
    "find_references": ("Find references", ("symbol",)),
    "get_repo_map": ("Map of the code", ("scope",)),
    "notify_self": ("Note to itself", ("message", "when")),
    "search_code": ("Search code", ("queries", "language")),
    "think": ("Think", ("thought",)),
    "thread_list": ("Threads", ("status",)),
    "thread_push": ("Add to thread", ("thread",)),
    "thread_read": ("Thread", ("thread",)),
    "thread_seek": ("Search threads", ("queries",)),
    "vault_create_index": ("Write index", ("folder",)),
    "vault_list": ("List notes", ("folder",)),
    "vault_move": ("Move note", ("old_path", "new_path")),
    "vault_read": ("Read note", ("path", "lines")),
    "vault_search": ("Search notes", ("queries", "tag", "folder")),
    "vault_write": ("Write note", ("path",)),
    "web_fetch": ("Web page", ("url",)),
}


def get_title(tool: str) -> str:
    """Return the words for a tool, or its name, which is the model's: it may write anything."""
    return _WORDS[tool][0] if tool in _WORDS else tool


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
    names = _WORDS[tool][1] if tool in _WORDS else ()
    return [arguments[name] for name in names if arguments.get(name)]


def _format_value(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
