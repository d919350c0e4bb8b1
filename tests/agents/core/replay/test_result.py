"""What the verdicts on many runs come to."""

from typing import Any

from agents.core.replay.result import Verdict, VerdictKind, summarize


def verdict(kind: VerdictKind = "same", **values: Any) -> Verdict:
    usual = {"id": "1", "old_reason": "completed", "old_turn": 5, "old_tokens": 100}
    return Verdict(kind=kind, **{**usual, **values})


def test_nothing_comes_to_nothing() -> None:
    found = summarize([])
    assert (found.runs, found.turns, found.cut, found.changes) == (0, 0, 0, {})
    assert found.kinds == dict.fromkeys(("same", "earlier", "later", "other", "unknown"), 0)


def test_runs_are_counted_by_kind_and_by_what_became_of_their_reason() -> None:
    cut = {"reason": "max_iterations", "turns_saved": 2, "tokens_saved": 30, "was_cut": True}
    found = summarize(
        [
            verdict(reason="completed"),
            verdict("earlier", **cut),
            verdict("earlier", **cut),
            verdict("later", old_reason="no_progress", why_unknown="Not recorded."),
            verdict("unknown", why_unknown="Damaged."),
        ]
    )
    assert found.runs == 5
    assert found.kinds == {"same": 1, "earlier": 2, "later": 1, "other": 0, "unknown": 1}
    assert list(found.changes.items()) == [
        (("completed", "max_iterations"), 2),
        (("no_progress", ""), 1),
    ]
    assert (found.turns, found.turns_saved) == (25, 4)
    assert (found.tokens, found.tokens_saved) == (500, 60)
    assert found.cut == 2
    assert found.unknown == {"Not recorded.": 1, "Damaged.": 1}


def test_limits_that_were_not_applied_are_named() -> None:
    found = summarize([verdict(not_applied=frozenset({"token_budget"})), verdict()])
    assert found.not_applied == {"token_budget": 1}
