"""A resolver of host names that knows what a test tells it, in place of the machine's."""

from collections.abc import Sequence

import pytest

from agents.endpoints import probe


def replace_resolver(monkeypatch: pytest.MonkeyPatch) -> dict[str, Sequence[str]]:
    """Return what names resolve to, to be filled; there are no others."""
    known: dict[str, Sequence[str]] = {}

    async def resolve(host: str, port: int) -> Sequence[str]:
        if host not in known:
            raise OSError("no such name")
        return known[host]

    monkeypatch.setattr(probe, "resolve", resolve)
    return known
