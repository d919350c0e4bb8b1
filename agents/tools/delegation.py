"""Which results are too long for the model: the librarian reads those, the model its summary."""

from collections.abc import Mapping

from agents.core.messages import ToolOutcome
from agents.core.tokens import estimate_tokens

DELEGATION_THRESHOLDS: Mapping[str, float] = {
    "vault_search_results": 6,
    "search_code_results": 6,
    "vault_list_files": 10,
    "thread_read_entries": 20,
    "token_estimate": 4_000,
    "score_similarity": 0.1,
}
MIN_TOKENS = 1_000
"""What is shorter is never delegated: its summary would cost more than it saves."""
SEARCHES = ("vault_search", "search_code")


def should_delegate(tool: str, result: ToolOutcome) -> bool:
    """Return whether a result is too large for the model to read by itself."""
    tokens = estimate_tokens(result.content)
    if not result.ok or tokens < MIN_TOKENS:
        return False
    if tokens > DELEGATION_THRESHOLDS["token_estimate"]:
        return True
    if tool in SEARCHES:
        return _count_similar(result) > DELEGATION_THRESHOLDS[f"{tool}_results"]
    if tool == "vault_list":
        return result.item_count > DELEGATION_THRESHOLDS["vault_list_files"]
    if tool == "thread_read":
        return result.item_count > DELEGATION_THRESHOLDS["thread_read_entries"]
    return False


def _count_similar(result: ToolOutcome) -> int:
    """Return how many hits are about as good as the best one, so that none stands out."""
    scores = [source.score for source in result.sources if source.score is not None]
    least = max(scores, default=0.0) - DELEGATION_THRESHOLDS["score_similarity"]
    return sum(score >= least for score in scores)
