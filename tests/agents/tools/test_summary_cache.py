"""Summaries that are kept: whose, for how long, and what is not believed."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.audit.erasure import erase
from agents.core.chunks import SourceRef
from agents.models import LibrarianSummary, Project
from agents.projects.members import remove_member
from agents.projects.services import create_project
from agents.tools import summary_cache
from agents.tools.summary_cache import MAX_SUMMARIES, SummaryCache
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry, withdraw_entries
from tests.agents.models.factories import run_of
from tests.agents.projects.people import person

pytestmark = pytest.mark.django_db
TASK, TEXT = "Summarise the pump.", "It failed on 14 May [log/pump.md:1]."
NOTE = SourceRef("log/pump.md", "vault", 1)


@pytest.fixture
def ada() -> User:
    return person("ada")


@pytest.fixture
def project(ada: User) -> Project:
    project = create_project(ada, "Engine")
    notes.create_note(project.pk, "log/pump.md", "It failed on 14 May.", Author.person(ada.pk))
    return project


@pytest.fixture
def cache(ada: User, project: Project) -> SummaryCache:
    cache = SummaryCache(project.pk, ada.pk)
    cache.store(TASK, TEXT, [NOTE])
    return cache


def test_what_was_stored_is_found_for_the_same_task_alone(cache: SummaryCache) -> None:
    found = cache.find(TASK)
    assert found is not None
    assert (found.text, found.sources) == (TEXT, (NOTE,))
    assert found.introduction.startswith("[From the cache, written on ")
    assert cache.find(f"{TASK} ") is None


def test_the_places_that_it_used_are_found_again_each_once(cache: SummaryCache) -> None:
    places = (
        SourceRef("log/pump.md", "vault", 1, "It failed", heading="May", end_line=1),
        SourceRef("log/pump.md", "vault", 1, score=0.5),
    )
    cache.store(TASK, TEXT, [*places, places[0]])
    found = cache.find(TASK)
    assert found is not None
    assert found.sources == places


def test_a_database_that_sorts_the_names_of_places_changes_nothing(cache: SummaryCache) -> None:
    place = SourceRef("log/pump.md", "vault", 1, "It failed", heading="May", end_line=1)
    cache.store(TASK, TEXT, [place])
    row = LibrarianSummary.objects.get()
    for document in row.documents:
        document[3] = [dict(sorted(each.items())) for each in document[3]]
    row.save()
    found = cache.find(TASK)
    assert found is not None
    assert found.sources == (place,)


def test_a_changed_note_makes_it_void(cache: SummaryCache, project: Project, ada: User) -> None:
    notes.save_note(project.pk, "log/pump.md", "On 15 May.", Author.person(ada.pk))
    assert cache.find(TASK) is None
    assert not LibrarianSummary.objects.exists()


def test_another_person_and_another_project_have_their_own(
    cache: SummaryCache, project: Project, ada: User
) -> None:
    assert SummaryCache(project.pk, person("bob").pk).find(TASK) is None
    assert SummaryCache(create_project(ada, "Other").pk, ada.pk).find(TASK) is None


def forge(change: Callable[[LibrarianSummary], object]) -> None:
    row = LibrarianSummary.objects.get()
    change(row)
    row.save()


@pytest.mark.parametrize("field", ["text", "signature", "task_digest"])
def test_a_row_that_was_changed_is_not_believed(cache: SummaryCache, field: str) -> None:
    other = cache.find(TASK)
    assert other is not None
    forge(lambda row: setattr(row, field, "0" * 64))
    assert cache.find(TASK) is None


def test_a_row_that_was_written_in_an_older_way_is_written_again(
    cache: SummaryCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(summary_cache, "_SALT", "agents.tools.summary_cache")
        cache.store(TASK, "Made up [no/such.md].", [NOTE])
    assert cache.find(TASK) is None
    assert not LibrarianSummary.objects.exists()


def test_a_row_of_another_project_is_not_believed(
    cache: SummaryCache, project: Project, ada: User
) -> None:
    other = create_project(ada, "Other")
    notes.create_note(other.pk, "log/pump.md", "It failed on 14 May.", Author.person(ada.pk))
    forge(lambda row: setattr(row, "project_id", other.pk))
    assert SummaryCache(other.pk, ada.pk).find(TASK) is None


def test_who_was_removed_finds_nothing(project: Project) -> None:
    bob = person("bob")
    project.memberships.create(user=bob, role="member")
    cache = SummaryCache(project.pk, bob.pk)
    cache.store(TASK, TEXT, [NOTE])
    assert cache.find(TASK) is not None
    remove_member(project, bob, by=None)
    assert cache.find(TASK) is None


def test_a_thread_that_grew_or_lost_an_entry_makes_it_void(
    cache: SummaryCache, project: Project, ada: User
) -> None:
    author, source = Author.person(ada.pk), [SourceRef("power", "thread", 1)]
    entry = push_entry(project.pk, "power", NewEntry("We take LFP."), author)
    cache.store("A", TEXT, source)
    assert cache.find("A") is not None
    withdraw_entries(entry.thread.entries.all(), ada.pk)
    assert cache.find("A") is None


@pytest.mark.parametrize(
    "sources", [[], [SourceRef("gone.md", "vault")], [NOTE, SourceRef("https://a.invalid", "web")]]
)
def test_what_rests_on_nothing_that_can_be_checked_is_not_kept(
    cache: SummaryCache, sources: list[SourceRef]
) -> None:
    cache.store("B", TEXT, sources)
    assert cache.find("B") is None


def test_those_that_were_not_used_for_longest_go(
    cache: SummaryCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_SUMMARIES == 200
    monkeypatch.setattr("agents.tools.summary_cache.MAX_SUMMARIES", 2)
    cache.store("B", TEXT, [NOTE])
    assert cache.find(TASK) is not None
    cache.store("C", TEXT, [NOTE])
    assert cache.find("B") is None
    assert cache.find(TASK) is not None


def test_they_go_with_the_person(cache: SummaryCache, ada: User) -> None:
    ada.delete()
    assert not LibrarianSummary.objects.exists()


def test_they_go_with_the_words_of_the_run_that_they_were_written_in(
    cache: SummaryCache, ada: User, project: Project
) -> None:
    now, minute = timezone.now(), timedelta(minutes=1)
    around = {"outcome": "completed", "started_at": now - minute, "ended_at": now + minute}
    earlier = run_of(ada, project, **{**around, "ended_at": now - minute / 2})
    others = run_of(person("eve"), project, **around)
    during = run_of(ada, project, **around)
    assert erase([earlier.pk, others.pk], why="test") == 2
    assert cache.find(TASK) is not None
    assert erase([during.pk], why="test") == 1
    assert not LibrarianSummary.objects.exists()
