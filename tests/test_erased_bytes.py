"""Words that were erased are in no byte of the database's file and log, and in no file of the data
folder; on PostgreSQL once its tables were rewritten, as docs/audit.md says."""

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.audit import erasure, traces
from agents.audit.erasure import erase
from agents.audit.traces import clear_traces, clear_traces_daily
from agents.code.checkouts import remove_checkout
from agents.code.importer import import_code
from agents.code.sources import open_code_source
from agents.models import AgentRun, CodeCheckout, Membership, NoteVersion, Project
from agents.projects import services
from agents.projects.purge import purge_due_projects
from agents.vault.attachments import add_attachment
from agents.vault.author import Author
from agents.vault.notes import create_note, delete_note, save_note
from agents.vault.threads import NewEntry, push_entry
from chat.library.code_uploads import store_upload
from chat.library.upload_pieces import append_piece
from chat.services import ask
from tests.chat.services.test_ask_runs import Chat
from tests.support.script import call, say
from tests.support.timing import PATIENCE, look_again
from tests.test_words_everywhere import MARK, MARKS, Written

pytestmark = pytest.mark.django_db(transaction=True)
LETTERS = "bcdfghjklmnpqrtvwxz"
WORDS = 60


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path, db: None) -> Path:
    """A data folder of its own, and a database without what earlier tests have erased, whose index
    is due to be merged."""
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    clear_traces()
    (settings.DATA_DIR / traces.MERGED_FILE).unlink(missing_ok=True)
    return tmp_path / "data"


def read_everything(folder: Path) -> bytes:
    """Every byte that is stored: of the database, and of all files of the data folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = "\n".join(map(str, folder.rglob("*"))).encode()
    return b"\n".join([*read_database(), names, *(file.read_bytes() for file in files)])


def read_database() -> Iterator[bytes]:
    if connection.vendor == "sqlite":
        path = Path(connection.settings_dict["NAME"])
        yield from (file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
        return
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
        cursor.execute(
            "SELECT pg_read_binary_file(pg_relation_filepath(oid)) FROM pg_class"
            " WHERE relkind IN ('r', 'i', 't', 'm') AND pg_relation_filenode(oid) <> 0"
        )
        yield from (bytes(content) for (content,) in cursor.fetchall())


def rewrite_tables() -> None:
    """What an operator of PostgreSQL does after an erasure; SQLite needs nothing.

    Rows that a transaction from before may still see would be kept: any that an earlier test has
    left open are ended.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"
            )
            cursor.execute("DELETE FROM pg_statistic")  # it samples values of the tables
            cursor.execute("VACUUM (FULL, ANALYZE)")


class Words:
    """Words that nobody has used before. An index may cut their ends, and keep the beginning once
    for words that share it, so they are known by their middle."""

    def __init__(self, count: int = WORDS) -> None:
        letters = random.SystemRandom()
        self.all = ["".join(letters.choices(LETTERS, k=16)) for _ in range(count)]

    def __str__(self) -> str:
        return " ".join(self.all)

    def count_in(self, content: bytes) -> int:
        folded = content.lower()
        return sum(word[4:12].encode() in folded for word in self.all)


def make_person(*projects: Project) -> User:
    user = User.objects.create_user(f"ada{uuid4().hex}")
    for project in projects:
        Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)
    return user


def make_project(name: str) -> Project:
    return Project.objects.create(name=name, slug=name)


def fill(project: Project, user: User, words: Words) -> None:
    """Put words wherever a project keeps some: notes and what they were, trash, threads, files."""
    author = Author.person(user.pk)
    for at in range(0, len(words.all), 4):
        some = " ".join(words.all[at : at + 4])
        path = f"{words.all[at]}.md"
        create_note(project.pk, path, f"# {some}\n\nThe harbour, {some}.\n", author)
        save_note(project.pk, path, f"---\ntags: [{words.all[at + 1]}]\n---\n{some}\n", author)
        push_entry(project.pk, f"On {words.all[at]}", NewEntry(some, "thought"), author)
    delete_note(project.pk, f"{words.all[0]}.md", author)
    add_attachment(project.pk, f"{words.all[1]}.bin", [str(words).encode()])


def import_words(project: Project, user: User, words: Words, place: Path) -> None:
    """Make the project's code a folder with a definition of every word."""
    place.mkdir()
    for at in range(0, len(words.all), 6):
        text = "".join(f"def {word}():\n    pass\n\n\n" for word in words.all[at : at + 6])
        (place / f"module{at}.py").write_text(text, encoding="utf-8")
    with open_code_source(place) as source:
        import_code(project.pk, source, user_id=user.pk)


def purge(project: Project) -> None:
    services.delete_project(project, by=None)
    deleted_at = timezone.now() - timedelta(days=31)
    Project.objects.filter(pk=project.pk).update(deleted_at=deleted_at)
    assert purge_due_projects() == 1


def test_of_a_purged_project_no_word_is_left_in_any_byte(folder: Path, tmp_path: Path) -> None:
    gone, kept = make_project("gone"), make_project("kept")
    user, lost, other = make_person(gone, kept), Words(), Words()
    fill(gone, user, lost)
    fill(kept, user, other)
    import_words(gone, user, code := Words(), tmp_path / "code")
    bodies = [bytes(row.body)[-24:] for row in NoteVersion.objects.filter(note__project=gone)]
    before = read_everything(folder)
    assert lost.count_in(before) == code.count_in(before) == WORDS
    assert all(body in before for body in bodies)
    purge(gone)
    rewrite_tables()
    after = read_everything(folder)
    assert (lost.count_in(after), code.count_in(after), other.count_in(after)) == (0, 0, WORDS)
    assert not [body for body in bodies if body in after]


def replace_code(project: Project, user: User, tmp_path: Path) -> None:
    import_words(project, user, Words(), tmp_path / "new")


def remove_code(project: Project, user: User, tmp_path: Path) -> None:
    remove_checkout(CodeCheckout.objects.get(), user_id=user.pk)


@pytest.mark.parametrize("forget", [replace_code, remove_code])
def test_of_code_that_was_replaced_or_removed_no_word_is_left_in_any_byte(
    forget: Callable[[Project, User, Path], None], folder: Path, tmp_path: Path
) -> None:
    project = make_project("gauges")
    user, lost, kept = make_person(project), Words(), Words()
    fill(project, user, kept)
    import_words(project, user, lost, tmp_path / "old")
    assert lost.count_in(read_everything(folder)) == WORDS
    forget(project, user, tmp_path)
    clear_traces_daily()
    rewrite_tables()
    after = read_everything(folder)
    assert (lost.count_in(after), kept.count_in(after)) == (0, WORDS)


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the index of SQLite")
def test_the_index_is_rewritten_neither_by_an_import_nor_at_once_by_a_restart(
    folder: Path, tmp_path: Path
) -> None:
    project = make_project("gauges")
    user, lost = make_person(project), Words()
    import_words(project, user, lost, tmp_path / "old")
    clear_traces_daily()
    with CaptureQueriesContext(connection) as queries:
        replace_code(project, user, tmp_path)
        clear_traces_daily()
    assert not [query["sql"] for query in queries if "'merge'" in query["sql"]]
    assert lost.count_in(read_everything(folder)) > 0
    for hours in (-2, 2):  # the day after, or the clock was set back
        merged_at = time.time() + hours * 3_600
        os.utime(folder / traces.MERGED_FILE, (merged_at, merged_at))
        with CaptureQueriesContext(connection) as queries:
            clear_traces_daily()
        assert [query["sql"] for query in queries if "'merge'" in query["sql"]]
        assert lost.count_in(read_everything(folder)) == 0


async def test_of_erased_runs_and_of_a_deleted_person_no_word_is_left_in_any_byte(
    folder: Path,
) -> None:
    async with Written() as person:
        await person.live()
        await sync_to_async(erase_in_turn)(person, folder)


def erase_in_turn(person: Written, folder: Path) -> None:
    def find_marks() -> set[str]:
        rewrite_tables()
        content = read_everything(folder)  # a row's next column may follow on a mark
        return {mark for mark in MARKS if mark.encode() in content}

    assert find_marks() == MARKS
    erase(list(AgentRun.objects.values_list("pk", flat=True)), why="a test")
    stored = " ".join(row.text for row in [*person.user.rules.all(), *person.user.behaviours.all()])
    written = set(MARK.findall(stored)) | {"qztoken"}
    assert find_marks() == written
    person.user.delete()
    assert find_marks() == set()


async def test_of_an_erased_conversation_no_word_is_left_in_any_byte(folder: Path) -> None:
    lost, kept = Words(6), Words(6)
    async with Chat(*(say(f"Answered: {words}.") for words in (lost, lost, kept))) as chat:
        first = await chat.first(f"Is it {lost}?")
        await chat.first(f"Again {lost}?")
        await chat.first(f"Is it {kept}?")

    def forget() -> None:
        assert lost.count_in(read_everything(folder)) == 6
        erase(
            AgentRun.objects.exclude(question__contains=kept.all[0]).values_list("pk", flat=True),
            why="a test",
        )
        rewrite_tables()
        after = read_everything(folder)
        assert (lost.count_in(after), kept.count_in(after)) == (0, 6)

    assert first.question
    await sync_to_async(forget)()


def test_what_a_person_had_begun_to_upload_goes_with_them(folder: Path) -> None:
    ada, other, lost, kept = make_person(), make_person(), Words(), Words()
    for user, words in ((ada, lost), (other, kept)):
        append_piece(user.pk, uuid4(), 0, str(words).encode())
        store_upload(user.pk, ContentFile(str(words).encode()))
    ada.delete()
    content = read_everything(folder)
    assert (lost.count_in(content), kept.count_in(content)) == (0, WORDS)


@contextmanager
def open_reader() -> Iterator[sqlite3.Connection]:
    """Somebody who reads the database as it is now: until they are done its log is needed."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM agents_note").fetchone() == (1,)
        yield reader


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the log of SQLite")
async def test_a_run_whose_person_was_deleted_holds_up_no_other_run_and_leaves_no_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "LOG_TRIES", 10**9)  # as long as somebody reads
    lost = Words(6)
    async with Chat(call("wait"), then=say("Here.")) as chat:
        stays = await sync_to_async(make_person)(chat.project)
        await sync_to_async(fill)(chat.project, stays, Words(4))
        question = f"Is it {lost}?"
        run = await chat.start(await chat.ready(ask.start_conversation, chat.project.pk, question))
        await chat.user.adelete()
        with open_reader():
            async with asyncio.timeout(PATIENCE):
                await chat.stop(run)
                chat.user = stays
                assert (await chat.first("Is it there?")).outcome == "completed"
            assert lost.count_in(read_everything(folder)) == 6
        erased = await AgentRun.objects.aget(pk=run.pk)
    assert (erased.outcome, erased.question) == ("cancelled", "")
    assert any(lost.count_in(read_everything(folder)) == 0 for _ in look_again())


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the log of SQLite")
async def test_the_log_is_emptied_once_for_many_erased_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "BATCH_SIZE", 1)
    async with Chat(then=say("Here.")) as chat:
        for number in range(3):
            await chat.first(f"Is it {number}?")

    def forget() -> None:
        with CaptureQueriesContext(connection) as queries:
            assert erase(AgentRun.objects.values_list("pk", flat=True), why="a test") == 3
        assert sum("TRUNCATE" in query["sql"] for query in queries) == 1

    await sync_to_async(forget)()


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="the log of SQLite")
def test_a_log_that_somebody_reads_is_emptied_by_the_next_day(
    folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "LOG_TRIES", 1)
    project = make_project("read")
    user, lost = make_person(project), Words(4)
    fill(project, user, lost)
    with open_reader() as reader:
        purge(project)
        assert lost.count_in(read_everything(folder)) == 4
        assert reader.execute("SELECT count(*) FROM agents_note").fetchone() == (1,)
    assert "still in the database's log: a reader needs it" in caplog.text
    clear_traces()
    assert lost.count_in(read_everything(folder)) == 0
