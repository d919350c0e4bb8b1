"""A canvas as text: what its cards say, and links to the files on it."""

import json
from typing import Any


def to_markdown(text: str) -> str:
    """Return the cards of a canvas as Markdown; empty where it is none. Never raises."""
    try:
        board = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    nodes = board.get("nodes") if isinstance(board, dict) else None
    return "\n\n".join(filter(None, map(_describe_node, nodes if isinstance(nodes, list) else [])))


def _describe_node(node: Any) -> str:
    if not isinstance(node, dict):
        return ""
    match node.get("type"), node:
        case "text", {"text": str(text)}:
            return text
        case "file", {"file": str(file)}:
            return f"[[{file}]]"
        case "group" | "link", {"label": str(label)}:
            return label
    return ""
