"""Which results are delegated, by the thresholds of the table."""

import pytest

from agents.core.chunks import SourceRef
from agents.core.messages import ToolOutcome
from agents.core.tokens import CHARS_PER_TOKEN
from agents.tools.delegation import DELEGATION_THRESHOLDS, MIN_TOKENS, should_delegate


def result(tokens: int, *, scores: tuple[float, ...] = (), items: int = 0) -> ToolOutcome:
    sources = tuple(SourceRef(f"{n}.md", "vault", 1, score=score) for n, score in enumerate(scores))
    return ToolOutcome(True, "x" * int(tokens * CHARS_PER_TOKEN), False, sources, items)


def test_the_thresholds_are_those_of_the_source_document() -> None:
    assert DELEGATION_THRESHOLDS == {
        "vault_search_results": 6,
        "search_code_results": 6,
        "vault_list_files": 10,
        "thread_read_entries": 20,
        "token_estimate": 4_000,
        "score_similarity": 0.1,
    }


@pytest.mark.parametrize("tool", ["vault_search", "search_code"])
def test_many_hits_that_are_about_as_good_are_delegated(tool: str) -> None:
    assert should_delegate(tool, result(MIN_TOKENS, scores=(0.9,) * 7))
    assert not should_delegate(tool, result(MIN_TOKENS, scores=(0.9,) * 6))
    assert not should_delegate(tool, result(MIN_TOKENS, scores=(0.9, *(0.79,) * 6)))
    assert should_delegate(tool, result(MIN_TOKENS, scores=(0.9, *(0.81,) * 6)))


@pytest.mark.parametrize(("tool", "most"), [("vault_list", 10), ("thread_read", 20)])
def test_long_lists_are_delegated(tool: str, most: int) -> None:
    assert should_delegate(tool, result(MIN_TOKENS, items=most + 1))
    assert not should_delegate(tool, result(MIN_TOKENS, items=most))


def test_long_results_of_any_tool_are_delegated() -> None:
    assert should_delegate("weather", result(4_001))
    assert not should_delegate("weather", result(4_000))


def test_short_results_are_never_delegated() -> None:
    for tool in ("vault_search", "vault_list"):
        short = result(MIN_TOKENS - 1, scores=(0.9,) * 20, items=200)
        assert not should_delegate(tool, short)


def test_failures_are_never_delegated() -> None:
    assert not should_delegate("weather", ToolOutcome(False, "x" * 100_000))
