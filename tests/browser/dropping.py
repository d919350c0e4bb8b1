"""What a person drops on a page: files from a folder's window, or words."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page


def drop(page: Page, *paths: Path, on: str = "#drop", beside: bool = False) -> None:
    """Drop files or folders on the place for them, on something else, or beside it."""
    box = page.locator(on).bounding_box()
    assert box is not None
    there = {"x": box["x"] + 20, "y": box["y"] + (-10 if beside else 20)}
    _dispatch(page, there, {"items": [], "files": [str(path) for path in paths]})


def drop_words(page: Page, words: str, field: Locator) -> None:
    """Drop words that were selected elsewhere on a field."""
    field.scroll_into_view_if_needed()
    box = field.bounding_box()
    assert box is not None
    there = {"x": box["x"] + 20, "y": box["y"] + box["height"] / 2}
    _dispatch(page, there, {"items": [{"mimeType": "text/plain", "data": words}]})


def _dispatch(page: Page, there: dict[str, float], data: dict[str, Any]) -> None:
    tools = page.context.new_cdp_session(page)
    for event in ("dragEnter", "dragOver", "drop"):
        tools.send(
            "Input.dispatchDragEvent",
            {"type": event, **there, "data": {**data, "dragOperationsMask": 1}},
        )
    tools.detach()
