"""Whoever changes what was recorded, without the key, is found out."""

import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection

from agents.audit import signing
from agents.audit.erasure import erase, erase_unfinished
from agents.audit.event_codec import event_digest
from agents.audit.log import log_action
from agents.audit.verify import verify_entries, verify_run
from agents.core.chunks import Content, Done, OracleStreamChunk
from agents.core.config import AgentConfig
from agents.models import AgentRun, AuditEntry, RunEvent, RunTool, StoredBehaviour
from agents.runtime import RunRequest, Runtime
from agents.runtime.recovery import Sweeper
from tests.agents.audit.stored_runs import kept
from tests.agents.models.factories import dead_process
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.history_rewriting import rewritable
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.django_db(transaction=True)

TAMPERINGS = 1_000


def recorded(answer: str = "It is so.", after: AgentRun | None = None) -> AgentRun:
    """A real run, with tools, text and decisions; of the same person as another."""

    known = None
    if after is not None:
        assert after.user is not None
        known = RunRequest(
            user=after.user, project=after.project, question="And?", config=AgentConfig()
        )

    async def run() -> AgentRun:
        request = known or await asked(f"Is it so, {answer}?")
        script = [call("look", place=answer), call("look", place="there"), say(answer, pieces=6)]
        async with Runtime(ScriptedRunFactory(ScriptedModel(script))) as runtime:
            row = await runtime.start(request)
            await followed(runtime, row.pk)
        return await AgentRun.objects.aget(pk=row.pk)

    return async_to_sync(run)()


def test_a_run_that_nobody_touched_is_intact() -> None:
    assert verify_run(recorded()) is None


def test_an_earlier_key_is_still_believed(settings: LazySettings) -> None:
    run = recorded()
    settings.AUDIT_KEYS = ["a new one", *settings.AUDIT_KEYS]
    assert verify_run(run) is None
    settings.AUDIT_KEYS = ["a new one"]
    assert verify_run(run) is not None


# -- tampering ------------------------------------------------------------------------------------

Tampering = Callable[[RunEvent, RunEvent, random.Random], Any]


def _changed(event: RunEvent, **values: Any) -> None:
    RunEvent.objects.filter(pk=event.pk).update(**values)


def other_content(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    shorter = event.content and dice.random() < 0.5
    _changed(event, content=event.content[:-1] if shorter else event.content + "x")


def other_data(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    _changed(event, data={**event.data, "number": dice.randrange(100, 999)})


def other_kind(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    _changed(event, kind="hint" if event.kind != "hint" else "thinking")


def other_time(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    at = event.at.replace(microsecond=(event.at.microsecond + 123_000) % 1_000_000)
    _changed(event, at=at)


def other_digest(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    _changed(event, sha256=hashlib.sha256(dice.randbytes(8)).hexdigest())


def other_link(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    _changed(event, link=hashlib.sha256(dice.randbytes(8)).hexdigest())


def content_with_its_digest(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    event.content = f"{event.content} and {dice.random()}"
    if event.kind in ("tool_call", "source", "system", "event"):
        event.content = '{"system_message": "another"}'
    _changed(event, content=event.content, sha256=event_digest(event))


def removed(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    RunEvent.objects.filter(pk=event.pk).delete()


def removed_and_closed_up(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    RunEvent.objects.filter(pk=event.pk).delete()
    for later in RunEvent.objects.filter(run=event.run, seq__gt=event.seq).order_by("seq"):
        _changed(later, seq=later.seq - 1)
    AgentRun.objects.filter(pk=event.run_id).update(last_seq=event.run.last_seq - 1)


def exchanged(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    _changed(event, content=other.content, data=other.data, sha256=other.sha256, kind="source")


def cut_off(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    RunEvent.objects.filter(run=event.run, seq__gte=event.seq).delete()
    AgentRun.objects.filter(pk=event.run_id).update(last_seq=event.seq - 1)


def added(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    last = event.run.last_seq
    row = RunEvent(run=event.run, seq=last + 1, kind="content", content="And more.", at=event.at)
    row.sha256, row.link = event_digest(row), other.link
    row.save()
    AgentRun.objects.filter(pk=event.run_id).update(last_seq=last + 1)


def erased_without_a_record(event: RunEvent, other: RunEvent, dice: random.Random) -> None:
    target = RunEvent.objects.filter(run=event.run).exclude(content="").order_by("?").first()
    assert target is not None
    _changed(target, content="")


KINDS: tuple[Tampering, ...] = (
    other_content,
    other_data,
    other_kind,
    other_time,
    other_digest,
    other_link,
    content_with_its_digest,
    removed,
    removed_and_closed_up,
    exchanged,
    cut_off,
    added,
    erased_without_a_record,
)


@pytest.mark.parametrize(
    "count",
    [90, pytest.param(300, marks=pytest.mark.ci), pytest.param(TAMPERINGS, marks=pytest.mark.long)],
)
def test_random_tamperings_are_all_found(count: int) -> None:
    """Each on a record that is whole before and after it."""
    first, dice = recorded("It is so."), random.Random(6)
    runs = [first, recorded("It is not.", after=first)]
    events = [list(RunEvent.objects.filter(run=run).order_by("seq")) for run in runs]
    missed = []
    with rewritable():
        for number in range(count):
            mine = dice.randrange(2)
            event, other = dice.choice(events[mine]), dice.choice(events[1 - mine])
            kind = KINDS[number % len(KINDS)]
            kind(RunEvent.objects.select_related("run").get(pk=event.pk), other, dice)
            if verify_run(AgentRun.objects.get(pk=event.run_id)) is None:
                missed.append((kind.__name__, event.seq, event.kind))
            _mend(runs[mine], events[mine])
    assert missed == []


def _mend(run: AgentRun, events: list[RunEvent]) -> None:
    RunEvent.objects.filter(run=run).delete()
    RunEvent.objects.bulk_create(events)
    AgentRun.objects.filter(pk=run.pk).update(last_seq=run.last_seq)


@pytest.mark.parametrize(
    "values",
    [
        {"reason": "max_iterations"},
        {"outcome": "failed"},
        {"turns": 1},
        {"tokens_in": 1},
        {"config": {"max_iterations": 50}},
        {"question": "Is it otherwise?"},
        {"answer": "It is not."},
        {"explanation": "Because."},
        {"also_triggered": ["timeout"]},
        {"model": "another"},
        {"cancel_note": "I wanted to."},
        {"digests": {}},
        {"seal": "0" * 64},
        {"first_link": "0" * 64},
        {"question": ""},
        {"user": None},
    ],
    ids=lambda values: next(iter(values)),
)
def test_a_changed_row_of_a_run_is_found(values: dict[str, Any]) -> None:
    run = recorded()
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(**values)
    assert verify_run(AgentRun.objects.get(pk=run.pk)) is not None


def test_a_run_given_to_somebody_else_is_found(django_user_model: Any) -> None:
    run = recorded()
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(user=django_user_model.objects.create())
    assert verify_run(AgentRun.objects.get(pk=run.pk)) is not None


def test_the_first_broken_link_is_named() -> None:
    run = recorded()
    with rewritable():
        RunEvent.objects.filter(run=run, seq__in=(5, 9)).update(kind="hint")
    finding = verify_run(run)
    assert finding is not None
    assert finding.seq == 5
    assert str(finding).startswith("event 5: ")


def test_what_is_left_of_an_erased_run_is_still_protected() -> None:
    run = recorded()
    erase([run.pk], why="retention")
    with rewritable():
        event = RunEvent.objects.filter(run=run, kind="turn").first()
        assert event is not None
        _changed(event, data={**event.data, "model_ms": 99_999})
    finding = verify_run(AgentRun.objects.get(pk=run.pk))
    assert finding is not None
    assert finding.seq == event.seq


def test_a_damaged_event_is_a_finding_not_an_error() -> None:
    run = recorded()
    with rewritable():
        RunEvent.objects.filter(run=run, kind="tool_call").update(content="not json")
    assert verify_run(run) is not None


# -- who looked -----------------------------------------------------------------------------------


def test_the_record_of_who_looked_is_chained_too() -> None:
    run = recorded()
    for _ in range(3):
        log_action("transcript", by=run.user, run=run)
    assert verify_entries() is None
    with rewritable():
        AuditEntry.objects.order_by("id")[1].delete()
    finding = verify_entries()
    assert finding is not None
    assert "removed" in finding.why


def test_a_run_that_is_opened_again_and_ended_otherwise_is_found() -> None:
    """Somebody removes its end and lets the server settle it once more, with a seal of its own."""
    run = recorded()
    with rewritable():
        RunEvent.objects.filter(run=run, seq__gt=6).delete()
        RunTool.objects.filter(run=run).delete()
        values = {"outcome": None, "seal": "", "last_seq": 6}
        AgentRun.objects.filter(pk=run.pk).update(owner=dead_process(), **values)
        assert verify_run(AgentRun.objects.get(pk=run.pk)) is not None
        assert Sweeper("own", lambda _: False).sweep() == 1
    settled = AgentRun.objects.get(pk=run.pk)
    assert settled.reason == "interrupted"
    assert verify_run(settled) is not None


@pytest.mark.skipif(connection.vendor != "sqlite", reason="its foreign keys would have to go first")
def test_a_run_that_was_removed_is_found() -> None:
    run = recorded()
    with rewritable(), connection.constraint_checks_disabled():
        for rows in (RunTool.objects, RunEvent.objects):
            rows.filter(run=run)._raw_delete("default")
        AgentRun.objects.filter(pk=run.pk)._raw_delete("default")
        finding = verify_entries()
        AuditEntry.objects.all()._raw_delete("default")
    assert finding is not None
    assert "removed" in finding.why


def test_counts_of_tools_are_sealed() -> None:
    run = recorded()
    with rewritable():
        RunTool.objects.filter(run=run).update(failed=99)
    assert verify_run(run) is not None


def test_an_argument_that_is_there_twice_is_found() -> None:
    run = recorded()
    event = RunEvent.objects.filter(run=run, kind="tool_call").first()
    assert event is not None
    with rewritable():
        _changed(event, content='{"place": "never said", ' + event.content[1:])
    assert verify_run(run) is not None


def test_a_forged_record_of_an_erasure_is_found() -> None:
    run = recorded()
    AuditEntry.objects.create(verb="erase", run=run, link="0" * 64)
    RunEvent.objects.filter(run=run).update(content="")
    AgentRun.objects.filter(pk=run.pk).update(question="", answer="")
    assert verify_run(AgentRun.objects.get(pk=run.pk)) is not None


def with_subagents() -> AgentRun:
    """A run that has ended, with the words of two subagents; one did not finish."""
    chunks: list[OracleStreamChunk] = [
        Content(content="Mine", seq=1, at=1e9),
        Content(content="Half", parent="c1", seq=2, at=1e9),
        Content(content="Whole", parent="c2", seq=3, at=1e9),
        Done(
            termination_reason="completed",
            outcome="completed",
            turns_used=1,
            tokens_used=1,
            usage_source="provider",
            model_used="m",
            seq=4,
            at=2e9,
        ),
    ]
    return kept(chunks)


def test_a_run_with_an_unfinished_subagent_is_intact_when_its_words_are_gone() -> None:
    run = with_subagents()
    erase_unfinished(run.pk, ["c1"])
    assert verify_run(run) is None
    erase([run.pk], why="retention")
    assert verify_run(AgentRun.objects.get(pk=run.pk)) is None


@pytest.mark.parametrize("seq", [1, 3])
def test_words_that_are_not_of_the_unfinished_subagent_are_missed(seq: int) -> None:
    run = with_subagents()
    erase_unfinished(run.pk, ["c1"])
    with rewritable():
        RunEvent.objects.filter(run=run, seq=seq).update(content="")
    finding = verify_run(run)
    assert finding is not None
    assert finding.seq == seq


def test_what_is_left_of_an_unfinished_subagent_is_still_protected() -> None:
    run = with_subagents()
    erase_unfinished(run.pk, ["c1"])
    with rewritable():
        RunEvent.objects.filter(run=run, seq=2).update(content="Something else")
    assert verify_run(run) is not None
    with rewritable():
        RunEvent.objects.filter(run=run, seq=2).update(content="", data={"parent": "c2"})
    assert verify_run(run) is not None


def test_a_forged_record_of_an_unfinished_subagent_is_found() -> None:
    run = with_subagents()
    forged = {"run": run, "link": "0" * 64, "detail": {"call": "c2"}}
    AuditEntry.objects.create(verb="erase_unfinished", **forged)
    RunEvent.objects.filter(run=run, seq=3).update(content="")
    assert verify_run(run) is not None
    assert verify_entries() is not None


def test_nobody_is_forgotten_who_is_still_here() -> None:
    run = recorded()
    log_action("transcript", by=run.user, run=run)
    AuditEntry.objects.filter(verb="transcript").update(by=None)
    assert verify_entries() is not None
    erase([run.pk], why="retention")
    AgentRun.objects.filter(pk=run.pk).update(user=None)
    assert verify_run(AgentRun.objects.get(pk=run.pk)) is not None


def test_a_row_that_was_read_before_its_run_went_on_is_no_finding() -> None:
    run = recorded()
    before = AgentRun(
        pk=run.pk, **{f.attname: getattr(run, f.attname) for f in AgentRun._meta.fields}
    )
    before.outcome, before.last_seq, before.seal = None, 3, ""
    assert verify_run(before) is None


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL takes no such values")
def test_a_damaged_row_is_named_and_the_others_are_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = recorded()
    other = recorded("It is not.", after=run)
    with rewritable():
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE agents_agentrun SET conversation_key = 'abc' WHERE id = %s", [run.pk.hex]
            )
            cursor.execute("UPDATE agents_agentrun SET turns = 9 WHERE id = %s", [other.pk.hex])
        with pytest.raises(CommandError, match="2 of 2 records are broken"):
            call_command("audit_verify")
    out = capsys.readouterr().out
    assert f"{run.pk}  its row cannot be read" in out
    assert f"{other.pk}  " in out


def recorded_by(behaviour: str) -> AgentRun:
    """A real run that its user's own behaviour has driven."""

    async def run() -> AgentRun:
        request = await asked(tree=behaviour)
        text = f'(tree "{behaviour}" (repeater :until-success (turn)))'
        await StoredBehaviour.objects.acreate(
            name=behaviour, text=text, level="own", user=request.user
        )
        async with Runtime(ScriptedRunFactory(ScriptedModel([say("So.")]))) as runtime:
            row = await runtime.start(request)
            await followed(runtime, row.pk)
        return await AgentRun.objects.aget(pk=row.pk)

    return async_to_sync(run)()


@pytest.mark.parametrize("is_erased", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda run: {"behaviour": "another"},
        lambda run: {"behaviour_digest": "0" * 64},
        lambda run: {"digests": {k: v for k, v in run.digests.items() if k != "behaviour"}},
        lambda run: {"digests": {**run.digests, "behaviour": signing.digest("another")}},
    ],
    ids=["name", "text", "taken for anybody's", "digest"],
)
def test_a_changed_name_of_an_own_behaviour_is_found(change: Any, is_erased: bool) -> None:
    run = recorded_by("mine")
    if is_erased:
        erase([run.pk], why="retention")
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(**change(run))
    assert verify_run(AgentRun.objects.get(pk=run.pk)) is not None


def test_the_name_of_an_own_behaviour_cannot_go_without_an_erasure() -> None:
    run = recorded_by("mine")
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(behaviour="")
    finding = verify_run(AgentRun.objects.get(pk=run.pk))
    assert str(finding) == "its behaviour was changed"


def test_the_name_of_anybodys_behaviour_stays() -> None:
    run = recorded()
    assert (run.behaviour, "behaviour" in run.digests) == ("oracle-agent", False)
    erase([run.pk], why="retention")
    erased = AgentRun.objects.get(pk=run.pk)
    assert erased.behaviour == "oracle-agent"
    assert verify_run(erased) is None


def test_an_own_behaviour_from_before_its_name_could_be_erased_keeps_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sign = signing.sign_start
    monkeypatch.setattr(signing, "sign_start", lambda run, **_: sign(run))
    run = recorded_by("mine")
    assert "behaviour" not in run.digests
    erase([run.pk], why="retention")
    erased = AgentRun.objects.get(pk=run.pk)
    assert erased.behaviour == "mine"
    assert verify_run(erased) is None
