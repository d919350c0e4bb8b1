"""What the tools of the notes are called on their cards; every other goes by its name, or has a
card of its own that says it."""

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    "vault_create_index": "Write index",
    "vault_list": "List notes",
    "vault_move": "Move note",
    "vault_read": "Read note",
    "vault_search": "Search notes",
    "vault_write": "Write note",
}


def get_title(tool: str) -> str:
    """Return the words for a tool. The name is the model's, which may write anything."""
    return TITLES.get(tool, tool)
