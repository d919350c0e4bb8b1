"""What rules did in a run, read back from its rows."""

from dataclasses import replace

import pytest

from agents.audit.erasure import erase
from agents.core.chunks import EventRecord, Hint, OracleStreamChunk, SystemMessage
from agents.core.config import AgentConfig
from agents.models import AgentRun, RunEvent
from agents.rule_log import load_rule_log
from tests.agents.admin.fixtures import auditor, page_of
from tests.agents.audit.stored_runs import FIVE_TURNS, kept
from tests.agents.core.recorded_runs import chunks_of
from tests.support.history_rewriting import rewritable

pytestmark = pytest.mark.django_db


def record(name: str, payload: dict[str, object], /, **texts: object) -> dict[str, object]:
    told = {"name": name, "severity": "debug", "source": "rule"}
    return {**told, "payload": payload, "texts": texts}


RECORDS = [
    record(
        "rule.fired",
        {"turn": 2, "event": "turn.end", "mode": "on"},
        rule="own:enough",
        name="Enough",
        effects=["stop: Enough."],
    ),
    record("rule.failed", {"rule": "site:odd", "turn": 3, "off": True}, problem="divided by zero"),
    record(
        "rule.not_fired",
        {"count": 1},
        rules=[{"rule": "shipped:slow-tool", "turn": 4, "seq": 9, "why": "it was quick"}],
    ),
]


def run_with_rules() -> AgentRun:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    seq = chunks[-1].seq
    told: list[OracleStreamChunk] = [
        EventRecord(seq=seq + number, at=1.0, **fields)  # type: ignore[arg-type]
        for number, fields in enumerate(RECORDS)
    ]
    seq += len(told)
    about = {"own_rule": "own:enough", "subscriber": "rule-notify"}
    said = SystemMessage(
        seq=seq,
        at=1.0,
        system_type="notification",
        system_message="Enough now.",
        severity="info",
        metadata=about,
    )
    hint = Hint(seq=seq + 1, at=1.0, text="Oracle: enough.")
    return kept([*chunks[:-1], *told, said, hint, replace(chunks[-1], seq=seq + 2)])


def test_firings_failures_and_why_others_did_not_fire_are_told() -> None:
    log = load_rule_log(run_with_rules().pk)
    (fired,), (failed,), (idle,) = log.fired, log.failed, log.not_fired
    assert (fired.rule, fired.turn, fired.name) == ("own:enough", 2, "Enough")
    assert (fired.words, fired.mode) == (["stop: Enough."], "on")
    assert (failed.rule, failed.is_off, failed.words) == ("site:odd", True, ["divided by zero"])
    assert (idle.rule, idle.turn, idle.words) == ("shipped:slow-tool", 4, ["it was quick"])
    said = [(each.who, each.to, each.words) for each in log.said]
    assert ("own:enough", "the user", "Enough now.") in said
    assert ("", "the model", "Oracle: enough.") in said


def test_an_erased_run_still_tells_which_rules_fired_but_for_the_names_of_own_ones() -> None:
    run = run_with_rules()
    erase([run.pk], why="a test")
    log = load_rule_log(run.pk)
    assert [(entry.rule, entry.turn, entry.mode) for entry in log.fired] == [("own rule", 2, "on")]
    assert [entry.rule for entry in log.failed] == ["site:odd"]
    assert log.fired[0].words == []
    assert log.not_fired == []
    assert not any(each.words for each in log.said)


def test_damaged_rows_are_left_out() -> None:
    run = run_with_rules()
    with rewritable():
        RunEvent.objects.filter(run=run, kind="event").update(content="{")
        RunEvent.objects.filter(run=run, kind="system").update(data=[])
    assert load_rule_log(run.pk).said != []


def test_the_key_of_an_own_rule_is_for_those_who_may_read_what_was_said() -> None:
    run = run_with_rules()
    plain = page_of(run, auditor()).text()
    assert ("own:enough" in plain, "own rule" in plain, "site:odd" in plain) == (False, True, True)
    assert "own:enough" in page_of(run, auditor("rita", "view_content")).text()
