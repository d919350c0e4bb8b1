"""A tool that goes with the tree: the model says what supports a claim before it makes it."""

from typing import Annotated

from pydantic import Field

from agents.tools.definition import ToolFailed
from agents.tools.registry import tool

MIN_SOURCES = 2


@tool(timeout=5)
async def check_claim(
    claim: Annotated[str, Field(description="The claim, in one sentence.")],
    sources: Annotated[list[str], Field(description="Paths of the notes that support it.")],
) -> str:
    """Check that a claim rests on enough sources before you make it."""
    found = sorted({source.strip() for source in sources} - {""})
    if not found:
        raise ToolFailed("No source is named; pass the path of each note that supports the claim.")
    if len(found) < MIN_SOURCES:
        return f"Only {found[0]} supports it: look for another source, or say that it is one."
    return f"Supported by {len(found)} sources."
