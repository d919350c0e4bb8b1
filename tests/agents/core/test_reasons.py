"""Why a run ends: the reasons, their outcomes and their precedence."""

import pytest

from agents.core.decisions.endings import measure_conditions
from agents.core.reasons import REASONS, Outcome, Reason
from agents.core.registry import NotRegistered, RegistrationError
from tests.agents.core.factories import fresh

TABLE = [
    ("user_cancelled", "cancelled"),
    ("needs_approval", "paused"),
    ("completed", "completed"),
    ("declined", "completed"),
    ("max_iterations", "limited"),
    ("token_budget", "limited"),
    ("timeout", "limited"),
    ("rule_stopped", "limited"),
    ("behaviour_ended", "limited"),
    ("no_progress", "limited"),
    ("error_limit", "limited"),
    ("output_truncated", "limited"),
    ("content_filter", "failed"),
    ("empty_answer", "failed"),
    ("provider_error", "failed"),
    ("interrupted", "failed"),
    ("internal_error", "failed"),
]


def test_every_reason_has_its_outcome_in_order_of_precedence() -> None:
    found = [(code, entry.outcome.value) for code, entry in REASONS]
    assert found[: len(TABLE)] == TABLE


@pytest.mark.parametrize("code", [code for code, _ in TABLE])
def test_every_reason_says_what_happened_and_what_to_do(code: str) -> None:
    entry = REASONS.get(code)
    assert entry.code == code
    assert entry.label.strip()
    assert entry.sentence.endswith(".")
    assert entry.remedy.endswith(".")
    assert entry.severity in ("info", "warning", "error")


def test_labels_are_told_apart() -> None:
    labels = [entry.label for _, entry in REASONS]
    assert len(set(labels)) == len(labels)


def test_severity_follows_the_outcome() -> None:
    wanted = {"completed": "info", "cancelled": "info", "paused": "info"}
    wanted |= {"limited": "warning", "failed": "error"}
    assert {code: entry.severity for code, entry in REASONS if (code, entry.outcome) in TABLE} == {
        code: wanted[outcome] for code, outcome in TABLE
    }


def test_only_limits_that_leave_room_ask_for_a_last_answer() -> None:
    wrapping = [code for code, _ in TABLE if REASONS.get(code).wraps_up]
    assert wrapping == [
        "max_iterations", "token_budget", "timeout", "rule_stopped", "behaviour_ended",
        "no_progress", "error_limit",
    ]  # fmt: skip


def test_the_end_conditions_come_in_the_order_of_the_reasons() -> None:
    order = list(REASONS.names())
    names = [check.rule for check in measure_conditions(fresh())]
    assert names == sorted(names, key=order.index)


def test_a_reason_is_registered_once() -> None:
    twin = Reason("timeout", Outcome.LIMITED, "Time", "info", "Over.", "Wait.")
    with pytest.raises(RegistrationError):
        REASONS.register("timeout", twin)
    assert REASONS.get("timeout") is not twin


def test_an_unknown_reason_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NotRegistered) as refusal:
        REASONS.get("bored")
    assert [code for code, _ in TABLE if code not in str(refusal.value)] == []


def test_a_reason_cannot_be_edited() -> None:
    with pytest.raises(AttributeError):
        REASONS.get("timeout").label = "Later"  # type: ignore[misc]
