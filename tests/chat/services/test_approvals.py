"""Runs that ask, and people who decide: through the real runtime, with real notes."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from agents.approvals import find_known_versions, load_approval
from agents.audit.erasure import erase
from agents.audit.verify import verify_run
from agents.core.chunks import OracleStreamChunk, SystemMessage, ToolResult, Turn
from agents.core.ports import ChatModel, ToolRunner
from agents.core.replay.engine import replay
from agents.core.replay.result import Verdict
from agents.ledger import load_chunks
from agents.models import (
    AgentRun,
    ApprovalCall,
    ApprovalRequest,
    AuditEntry,
    Membership,
    Note,
    Project,
    RunEvent,
    StoredBehaviour,
    UserAgentConfig,
)
from agents.replay_source import load_recordings
from agents.runtime import RunRequest, Runtime
from agents.runtime.factory import build_world
from agents.runtime.requests import ProjectClosed
from agents.settings_service import update_settings
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from agents.vault.notes import create_note, delete_note, save_note
from chat.errors import InvalidAction, NotFoundForUser
from chat.services import ask
from chat.services.approvals import build_verdict, decide, get_pending
from chat.services.ask import RunOptions
from chat.services.continue_run import continue_run
from tests.agents.runtime.fake_factory import ScriptedRunFactory, followed
from tests.chat.services.test_ask_runs import Chat, list_sent
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import ModelStep, ScriptedModel

pytestmark = pytest.mark.django_db(transaction=True)
WRITE = call("vault_write", path="Pumps.md", body="They are red now.\n")
BOTH = calls(
    Call("vault_write", {"path": "A.md", "body": "One.\n"}),
    Call("vault_list", {}),
    Call("vault_write", {"path": "B.md", "body": "Two.\n"}),
)


class NotesFactory(ScriptedRunFactory):
    """A scripted model with the notes of the project."""

    def tools(self, request: RunRequest, model: ChatModel, run_id: UUID) -> ToolRunner:
        author = Author.run(run_id, request.user.pk)
        world = build_world(request.project.pk, author, find_known_versions(run_id))
        names = ("vault_read", "vault_list", "vault_write", "vault_move")
        return ToolExecutor([TOOLS.get(name) for name in names], world)


class Asked(Chat):
    """A run that writes, of somebody who wants to be asked."""

    def __init__(self, *steps: ModelStep, mode: str = "always") -> None:
        super().__init__(*steps)
        self.mode = mode
        self.model = ScriptedModel(steps)
        self.runtime = Runtime(NotesFactory(self.model))

    async def begin(self) -> AgentRun:
        await sync_to_async(self._settle)()
        return await self.first("Paint the pumps red.")

    def _settle(self) -> None:
        author = Author.person(self.user.pk)
        create_note(self.project.pk, "Pumps.md", "They are blue.\n", author)
        update_settings(UserAgentConfig, self.user, {"ask_before_writing": self.mode})

    async def decide(
        self, run: AgentRun, verdict: str = "approved", words: str = "", **more: Any
    ) -> AgentRun:
        return await self.run(prepared(verdict, words, **more), run.pk)


def prepared(verdict: str, words: str = "", calls: Any = None, **more: Any) -> Callable[..., Any]:
    def prepare(user: User, run_id: UUID) -> ask.PreparedRun:
        digest = more.get("digest") or get_pending(user, run_id).row.digest
        return decide(user, run_id, build_verdict(verdict, words, digest, calls or {}), via="page")

    return prepare


@sync_to_async
def read_note(project: Project, path: str = "Pumps.md") -> str:
    note = Note.objects.filter(project=project, path=path, deleted_at=None).first()
    return note.text if note is not None else ""


@sync_to_async
def change_note(user: User, project: Project, text: str) -> None:
    version = Note.objects.get(project=project, path="Pumps.md").version
    save_note(project.pk, "Pumps.md", text, Author.person(user.pk), expected_version=version)


@sync_to_async
def results(run: AgentRun) -> dict[str, str]:
    chunks: list[OracleStreamChunk] = list(load_chunks(run.pk))
    return {c.tool_call_id: c.tool_result for c in chunks if isinstance(c, ToolResult)}


async def test_a_run_asks_and_a_yes_does_exactly_what_was_shown() -> None:
    async with Asked(WRITE, say("They are red.")) as chat:
        asked = await chat.begin()
        assert (asked.outcome, asked.reason, asked.tool_calls) == ("paused", "needs_approval", 0)
        assert await read_note(chat.project) == "They are blue.\n"
        done = await chat.decide(asked)
        assert (done.outcome, done.answer) == ("completed", "They are red.")
        assert done.continued_from_id == asked.pk
        assert await read_note(chat.project) == "They are red now.\n"
        assert await results(asked) == {}
        assert list((await results(done)).values()) == [
            "Replaced Pumps.md: 1 lines added, 1 removed (version 2)."
        ]
        row = await ApprovalRequest.objects.aget(pk=asked.pk)
        assert (row.verdict, row.decided_via, row.continuation_id) == ("approved", "page", done.pk)
        for run in (asked, done):
            assert await sync_to_async(verify_run)(run) is None


async def test_the_model_reads_each_held_call_once_with_its_result() -> None:
    async with Asked(WRITE, say("They are red."), say("Yes.")) as chat:
        done = await chat.decide(await chat.begin())
        assert list_sent(chat.model.requests[1]) == [
            "user: Paint the pumps red.",
            "assistant: [The user was asked to decide.]",
            "user: Yes, go ahead.",
            "assistant: None",
            "tool: Replaced Pumps.md: 1 lines added, 1 removed (version 2).",
        ]
        await chat.run(ask.ask, "Sure?", conversation_id=done.conversation_key)
        assert list_sent(chat.model.requests[2])[:5] == list_sent(chat.model.requests[1])


@pytest.mark.parametrize(
    ("verdict", "words", "result"),
    [
        ("refused", "", "Not run: the user said no."),
        (
            "differently",
            "Green, please.",
            "Not run: the user wants it done differently. They said: Green, please.",
        ),
    ],
)
async def test_a_no_changes_nothing_and_the_model_hears_why(
    verdict: str, words: str, result: str
) -> None:
    async with Asked(WRITE, say("As you like.")) as chat:
        done = await chat.decide(await chat.begin(), verdict, words)
        assert list((await results(done)).values()) == [result]
        assert await read_note(chat.project) == "They are blue.\n"


async def test_each_call_can_be_decided_for_itself() -> None:
    async with Asked(BOTH, say("Half of it.")) as chat:
        asked = await chat.begin()
        first, second = await sync_to_async(
            lambda: [c.row.call_id for c in load_pending(asked).calls]
        )()
        assert len(await results(asked)) == 1
        done = await chat.decide(asked, calls={second: ("refused", "")})
        assert await read_note(chat.project, "A.md") == "One.\n"
        assert await read_note(chat.project, "B.md") == ""
        assert set(await results(done)) == {first, second}
        assert done.question == "vault_write: Yes, go ahead.\nvault_write: No, leave it."


async def test_many_calls_can_be_decided_with_many_words_each() -> None:
    many = calls(*(Call("vault_write", {"path": f"{n}.md", "body": "x\n"}) for n in range(20)))
    async with Asked(many, say("Most of it.")) as chat:
        config = {"max_tool_calls_per_turn": 20}
        await sync_to_async(update_settings)(UserAgentConfig, chat.user, config)
        asked = await chat.begin()
        ids = await sync_to_async(lambda: [c.row.call_id for c in load_pending(asked).calls])()
        refused = {ids[3]: ("refused", "v" * 2_000)}
        done = await chat.decide(asked, words="w" * 2_000, calls=refused)
        assert (done.outcome, len(await results(done))) == ("completed", 20)
        assert (await results(done))[ids[3]].endswith("v" * 2_000)
        assert await read_note(chat.project, "3.md") == ""
        assert await read_note(chat.project, "4.md") == "x\n"


def load_pending(run: AgentRun) -> Any:
    pending = load_approval(run.pk)
    assert pending is not None
    return pending


@pytest.mark.parametrize(("mode", "outcome"), [("once", "completed"), ("always", "paused")])
async def test_once_per_run_includes_its_continuations(mode: str, outcome: str) -> None:
    second = call("vault_write", path="C.md", body="More.\n")
    async with Asked(WRITE, second, *([say("So.")] if mode == "once" else []), mode=mode) as chat:
        done = await chat.decide(await chat.begin())
        assert done.outcome == outcome


async def test_a_yes_to_a_behaviours_question_is_none_to_a_tool_that_asks_once() -> None:
    """It is asked about the list of changes; the tool asks about this very call."""
    async with Asked(say("Paint them red."), WRITE, say("Done."), mode="once") as chat:
        await sync_to_async(chat._settle)()
        first = await chat.first("Paint the pumps red.", RunOptions(tree="ask-first"))
        assert (first.outcome, (await ask_of(first)).asker) == ("paused", "behaviour")
        second = await chat.decide(first)
        assert (second.outcome, (await ask_of(second)).asker) == ("paused", "tool")
        assert await read_note(chat.project) == "They are blue.\n"
        done = await chat.decide(second)
        assert (done.outcome, done.answer) == ("completed", "Done.")
        assert await read_note(chat.project) == "They are red now.\n"


async def ask_of(run: AgentRun) -> ApprovalRequest:
    return await ApprovalRequest.objects.aget(pk=run.pk)


async def test_the_strictest_of_person_and_project_holds() -> None:
    async with Asked(WRITE, mode="never") as chat:
        await Project.objects.aupdate(ask_before_writing="once")
        assert (await chat.begin()).outcome == "paused"


# -- what cannot be decided -----------------------------------------------------------------------


async def refuse(
    chat: Asked, run: AgentRun, sentence: str, user: User | None = None, **more: Any
) -> None:
    prepare = prepared(more.pop("verdict", "approved"), **more)
    with pytest.raises((InvalidAction, NotFoundForUser), match=sentence):
        await sync_to_async(prepare)(user or chat.user, run.pk)
    assert await read_note(chat.project) == more.get("text", "They are blue.\n")


async def test_nobody_decides_for_somebody_else() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        bob = await User.objects.acreate_user("bob")
        await refuse(chat, asked, "You have no such", user=bob)


async def test_a_second_decision_is_told_of_the_first() -> None:
    async with Asked(WRITE, say("No.")) as chat:
        asked = await chat.begin()
        await chat.decide(asked, "refused")
        await refuse(chat, asked, "decided already: refused")


async def test_an_expired_question_is_not_decided() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        await ApprovalRequest.objects.aupdate(expires_at=timezone.now() - timedelta(seconds=1))
        await refuse(chat, asked, "expired")


async def test_a_note_that_has_changed_is_a_conflict_and_nothing_is_written() -> None:
    async with Asked(WRITE, say("Again.")) as chat:
        asked = await chat.begin()
        await change_note(chat.user, chat.project, "They are green.\n")
        await refuse(chat, asked, "Conflict: Pumps.md has changed", text="They are green.\n")
        await chat.decide(asked, "differently", "Read it again.")
        assert await read_note(chat.project) == "They are green.\n"


async def test_another_note_at_the_same_path_is_a_conflict_whatever_its_version() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        author = Author.person(chat.user.pk)
        await sync_to_async(delete_note)(chat.project.pk, "Pumps.md", author)
        await sync_to_async(create_note)(chat.project.pk, "Pumps.md", "Other pumps.\n", author)
        await refuse(chat, asked, "Conflict: Pumps.md has changed", text="Other pumps.\n")


async def test_an_index_asked_for_before_its_version_was_kept_is_no_conflict() -> None:
    index = call("vault_create_index", folder="", title="All", summaries=[])
    async with Asked(index, say("Done.")) as chat:
        asked = await chat.begin()
        await ApprovalCall.objects.aupdate(note_version=None)
        assert (await chat.decide(asked, "approved")).outcome == "completed"


async def test_a_note_that_changes_after_the_yes_is_not_overwritten() -> None:
    async with Asked(WRITE, say("Oh.")) as chat:
        asked = await chat.begin()
        ready = await chat.ready(prepared("approved"), asked.pk)
        await change_note(chat.user, chat.project, "They are green.\n")
        with pytest.raises(InvalidAction, match="Conflict"):
            await chat.start(ready)
        assert await AgentRun.objects.acount() == 1


async def test_a_decision_about_something_else_is_refused() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        await refuse(chat, asked, "not what is waiting", digest="0" * 64)
        await refuse(chat, asked, "No call 'x' waits", calls={"x": ("approved", "")})


async def test_what_was_erased_cannot_be_done_any_more() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        await sync_to_async(erase)([asked.pk], why="test")
        await refuse(chat, asked, "can no longer be read")


async def test_what_a_behaviour_had_asked_cannot_be_agreed_to_once_it_is_erased() -> None:
    async with Asked(say("Paint them.")) as chat:
        await sync_to_async(chat._settle)()
        asked = await chat.first("Paint the pumps.", RunOptions(tree="ask-first"))
        await sync_to_async(erase)([asked.pk], why="test")
        await refuse(chat, asked, "can no longer be read")


async def test_what_is_erased_at_the_moment_of_the_yes_is_not_done_either() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        ready = await chat.ready(prepared("approved"), asked.pk)
        await sync_to_async(erase)([asked.pk], why="test")
        with pytest.raises(InvalidAction, match="can no longer be read"):
            await chat.start(ready)
        assert (await ApprovalRequest.objects.aget(pk=asked.pk)).is_open


async def test_who_has_left_the_project_decides_nothing() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        ready = await chat.ready(prepared("approved"), asked.pk)
        await Membership.objects.filter(user=chat.user).adelete()
        await refuse(chat, asked, "no such")
        with pytest.raises(ProjectClosed):
            await chat.start(ready)


async def test_nothing_is_decided_in_an_archived_project_and_it_waits_until_that_is_restored() -> (
    None
):
    async with Asked(WRITE, say("They are red.")) as chat:
        asked = await chat.begin()
        await Project.objects.filter(pk=chat.project.pk).aupdate(archived_at=timezone.now())
        ready = await chat.ready(prepared("approved"), asked.pk)
        with pytest.raises(ProjectClosed):
            await chat.start(ready)
        assert (await ApprovalRequest.objects.aget(pk=asked.pk)).is_open
        await Project.objects.filter(pk=chat.project.pk).aupdate(archived_at=None)
        assert (await chat.decide(asked)).outcome == "completed"
        assert await read_note(chat.project) == "They are red now.\n"


async def test_who_may_only_read_by_now_changes_nothing() -> None:
    async with Asked(WRITE, say("Oh.")) as chat:
        asked = await chat.begin()
        await Membership.objects.filter(user=chat.user).aupdate(role="reader")
        told = await results(await chat.decide(asked))
        assert "may no longer change this project" in told.popitem()[1]
        assert await read_note(chat.project) == "They are blue.\n"


async def test_the_audit_holds_and_both_runs_replay_to_the_same_end() -> None:
    async with Asked(WRITE, say("As you like.")) as chat:
        asked = await chat.begin()
        done = await chat.decide(asked, "differently", "Green.")
    await sync_to_async(call_command)("audit_verify", stdout=StringIO())
    ids = [asked.pk, done.pk]
    found = await sync_to_async(lambda: [replay(one) for one in load_recordings(ids)])()
    assert [(one.kind, one.why_unknown) for one in found] == [("same", "")] * 2


@pytest.mark.parametrize("verdict", ["maybe", "differently"])
async def test_half_a_decision_is_none(verdict: str) -> None:
    with pytest.raises(InvalidAction):
        build_verdict(verdict, " ", "")


async def test_of_two_decisions_at_once_one_is_done() -> None:
    async with Asked(WRITE, say("So."), say("So.")) as chat:
        asked = await chat.begin()
        ready = [await chat.ready(prepared("approved"), asked.pk) for _ in range(4)]
        done = await asyncio.gather(*map(chat.start, ready), return_exceptions=True)
        (run,) = [one for one in done if isinstance(one, AgentRun)]
        await followed(chat.runtime, run.pk)
        assert (await Note.objects.aget(path="Pumps.md")).version == 2
        told = {str(one) for one in done if isinstance(one, Exception)}
        assert told == {"This was decided already: approved."}


# -- another question -----------------------------------------------------------------------------


async def test_another_question_closes_it_as_not_decided() -> None:
    async with Asked(WRITE, say("Noon.")) as chat:
        asked = await chat.begin()
        await chat.run(ask.ask, "What time is it?", conversation_id=asked.conversation_key)
        row = await ApprovalRequest.objects.aget(pk=asked.pk)
        assert (row.verdict, row.decided_via, row.continuation_id) == (
            "not_decided",
            "question",
            None,
        )
        await refuse(chat, asked, "decided already: not decided")
        assert any("went on without deciding" in line for line in list_sent(chat.model.requests[1]))


async def test_a_plain_continue_closes_it_too_and_does_nothing_of_it() -> None:
    async with Asked(WRITE, say("As you like.")) as chat:
        asked = await chat.begin()
        done = await chat.run(continue_run, asked.pk)
        row = await ApprovalRequest.objects.aget(pk=asked.pk)
        assert (row.verdict, row.continuation_id) == ("not_decided", None)
        assert done.continued_from_id == asked.pk
        assert any("went on without deciding" in line for line in list_sent(chat.model.requests[1]))
        assert await read_note(chat.project) == "They are blue.\n"


# -- behaviours -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("verdict", "text"), [("approved", "red now"), ("refused", "blue")])
async def test_a_behaviour_that_asks_goes_on_at_its_node(verdict: str, text: str) -> None:
    read = call("vault_read", path="Pumps.md")
    steps = [say("Paint them."), *([read, WRITE] if verdict == "approved" else []), say("So.")]
    async with Asked(*steps, mode="never") as chat:
        await sync_to_async(chat._settle)()
        asked = await chat.first("Paint the pumps.", RunOptions(tree="ask-first"))
        assert (asked.outcome, asked.reason) == ("paused", "needs_approval")
        pending = await sync_to_async(load_pending)(asked)
        assert (pending.row.asker, pending.calls) == ("behaviour", ())
        assert pending.question == "May I do this?\nPaint them."
        done = await chat.decide(asked, verdict)
        assert (done.outcome, done.answer) == ("completed", "So.")
        assert text in await read_note(chat.project)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "",
            "The behaviour mine that asked is not there any more, so oracle-agent drives this run.",
        ),
        (
            '(tree "mine" (turn))',
            "The behaviour mine has changed since it asked, so it starts again.",
        ),
    ],
)
async def test_a_behaviour_that_is_another_by_now_starts_anew_and_that_is_said(
    text: str, told: str
) -> None:
    asks = '(tree "mine" (sequence (approve "May I?") (turn)))'
    async with Asked(say("So.")) as chat:
        rows = StoredBehaviour.objects
        mine = await rows.acreate(name="mine", level="own", user=chat.user, text=asks)
        asked = await chat.first("Paint the pumps.", RunOptions(tree="mine"))
        assert asked.outcome == "paused"
        await (rows.filter(pk=mine.pk).aupdate(text=text) if text else mine.adelete())
        done = await chat.decide(asked)
        assert (done.outcome, done.answer) == ("completed", "So.")
        said = [c async for c in chat.runtime.follow(done.pk) if isinstance(c, SystemMessage)]
        assert [one.system_message for one in said] == [told]


# -- the record -----------------------------------------------------------------------------------


async def test_the_sealed_record_has_the_question_and_the_decision() -> None:
    async with Asked(WRITE, say("As you like.")) as chat:
        asked = await chat.begin()
        done = await chat.decide(asked, "differently", "Green, please.")
        assert await RunEvent.objects.filter(run=asked, kind="approval").acount() == 1
        told_of = RunEvent.objects.filter(run=done, kind="event", data__name="approval.answered")
        assert (await told_of.aget()).data["payload"]["decision"] == "differently"
        entry = await AuditEntry.objects.aget(verb="decide")
        assert (entry.run_id, entry.by_id) == (asked.pk, chat.user.pk)
        assert entry.detail == {"via": "page", "verdicts": ["differently"], "next": str(done.pk)}


async def test_the_labels_of_a_behaviour_are_erased_and_its_drafts_are_still_no_answers() -> None:
    async with Asked(say("Paint them red.")) as chat:
        await sync_to_async(chat._settle)()
        run = await chat.first("Paint the pumps red.", RunOptions(tree="ask-first"))
        before, played = await read_turns(run)
        assert {turn.interim for turn in before} == {"Changes"}
        await sync_to_async(erase)([run.pk], why="test")
        after, replayed = await read_turns(run)
        assert {turn.interim for turn in after} == {"Step"}
        assert (replayed.kind, replayed.reason) == (played.kind, played.reason)
        assert await sync_to_async(verify_run)(run) is None
        rows = [row async for row in RunEvent.objects.filter(run=run)]
        assert "Changes" not in "".join(f"{row.data}{row.content}" for row in rows)


@sync_to_async
def read_turns(run: AgentRun) -> tuple[list[Turn], Verdict]:
    """Return the turns of a run, and what comes of it if it is decided again."""
    found = [chunk for chunk in load_chunks(run.pk) if isinstance(chunk, Turn)]
    (recording,) = load_recordings([run.pk])
    return found, replay(recording)


async def test_the_words_of_a_decision_are_erased_with_either_run() -> None:
    async with Asked(WRITE, say("As you like.")) as chat:
        done = await chat.decide(await chat.begin(), "differently", "Green, please.")
        await sync_to_async(erase)([done.pk], why="test")
        row = await ApprovalRequest.objects.prefetch_related("calls").aget()
        assert (row.words, [one.words for one in row.calls.all()]) == ("", [""])
