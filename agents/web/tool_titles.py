"""What pages call the tools that come with Oracle."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_TITLES = {
    "calculate": "Calculate",
    "current_time": "Time of day",
    "delegate_librarian": "Ask a librarian",
    "find_definition": "Find definition",
    "find_references": "Find references",
    "get_repo_map": "Map of the code",
    "notify_self": "Note to itself",
    "search_code": "Search code",
    "think": "Think",
    "thread_list": "Threads",
    "thread_push": "Add to thread",
    "thread_read": "Thread",
    "thread_seek": "Search threads",
    "vault_create_index": "Write index",
    "vault_list": "List notes",
    "vault_move": "Move note",
    "vault_read": "Read note",
    "vault_search": "Search notes",
    "vault_write": "Write note",
    "web_fetch": "Web page",
}


def get_title(tool: str) -> str:
    """Return the words for a tool, or its name, which is the model's: it may write anything."""
    return _TITLES.get(tool, tool)


def mark_quotes(notification: str) -> SafeString:
    """Show what a notification quotes as code, and tools by their titles."""
    pieces = enumerate(notification.split("`"))
    shown = ((_mark_quote(piece) if number % 2 else piece,) for number, piece in pieces)
    return format_html_join("", "{}", shown)


def _mark_quote(text: str) -> str:
    title = get_title(text)
    return format_html("<code>{}</code>", text) if title == text else title
