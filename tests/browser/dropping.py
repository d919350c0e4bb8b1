"""Files of this machine, dropped on a page as a person drops them from a folder's window."""

from pathlib import Path

from playwright.sync_api import Page


def drop(page: Page, *paths: Path, beside: bool = False) -> None:
    """Drop files or folders on the place for them, or beside it."""
    box = page.locator("#drop").bounding_box()
    assert box is not None
    there = {"x": box["x"] + 20, "y": box["y"] + (-10 if beside else 20)}
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    tools = page.context.new_cdp_session(page)
    for event in ("dragEnter", "dragOver", "drop"):
        tools.send("Input.dispatchDragEvent", {"type": event, **there, "data": data})
    tools.detach()
