"""A database of commit a11961e, with what people did there, is brought to today's state.

`tests/data/a11961e.sql.gz` is a dump of SQLite, with the tables, rows and triggers of that commit.
It was made by its own code, on a site with made-up keys: people, a shared sample project and an
empty one, questions in the terminal to the embedded model (some with a limit of this once, one
continued), conversations over the API of a running server (branches, a title, one deleted), limits,
models, a theme, tokens; then a scripted endpoint, for a librarian that finishes, many tools, a
circle, a provider that refuses, runs that were stopped, one in the middle of a librarian's words,
and one whose server was killed. One run was erased by `audit_retention`, one with its person; an
auditor exported runs and opened a transcript. `audit_verify` found all intact.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from pytest_django import DjangoDbBlocker

from agents.models import AgentRun, Appearance, ApiToken, AuditEntry, ModelSettings
from agents.models import Project, RunEvent, RunTool, SettingChange, UserAgentConfig
from agents.endpoints.encryption import decrypt
from chat.models import Conversation, Exchange
from tests.support.earlier import earlier_database

pytestmark = pytest.mark.django_db
KEYS = {
    "SECRET_KEY": "the secret key of a made-up site",
    "AUDIT_KEYS": ["the audit key of a made-up site"],
}
KEPT = {
    Project: 2,
    AgentRun: 21,
    RunTool: 23,
    SettingChange: 14,
    ApiToken: 2,
    Conversation: 8,
    Exchange: 14,
}
Texts = dict[Any, Any]


def rows(table: str, *columns: str) -> Texts:
    """Return what a table says, by the first column; without Django's models."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608  # names of ours
        return {row[0]: row[1:] for row in cursor.fetchall()}


def texts() -> dict[str, Texts]:
    """Return everything that people and models wrote, and what it was signed with."""
    return {
        "runs": rows("agents_agentrun", "id", "question", "answer", "explanation", "seal"),
        "events": rows("agents_runevent", "id", "run_id", "seq", "content", "sha256", "link"),
        "entries": rows("agents_auditentry", "id", "verb", "link"),
        "titles": rows("chat_conversation", "id", "title", "head_id", "deleted_at"),
        "exchanges": rows("chat_exchange", "id", "parent_id", "run_id", "label", "checkpoint"),
    }


def installed_triggers() -> set[tuple[str, ...]]:
    """Return the triggers of the database in use, as it keeps them."""
    statement = {
        "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": """
            SELECT t.tgname, pg_get_triggerdef(t.oid), p.prosrc FROM pg_trigger t
            JOIN pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal""",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return set(cursor.fetchall())


class Site:
    """The migrated database, what it said before, and what a fresh one has."""

    def __init__(self, before: dict[str, Texts], fresh_triggers: set[tuple[str, ...]]) -> None:
        self.before, self.fresh_triggers = before, fresh_triggers

    def page(self, name: str, address: str) -> str:
        """Return a page as this person sees it."""
        client = Client()
        client.force_login(User.objects.get(username=name))
        answer = client.get(address, secure=True)
        assert answer.status_code == 200, address
        return answer.content.decode()


@pytest.fixture(scope="module")
def site(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("a11961e")
    with django_db_blocker.unblock(), override_settings(DATA_DIR=folder, **KEYS):
        fresh = installed_triggers()
        with earlier_database("a11961e.sql.gz", folder):
            before = texts()
            call_command("migrate", verbosity=0)
            yield Site(before, fresh)


def run(question: str) -> AgentRun:
    return AgentRun.objects.get(question=question)


def test_everything_is_still_there(site: Site) -> None:
    assert {kind: kind._default_manager.count() for kind in KEPT} == KEPT
    assert set(User.objects.values_list("username", flat=True)) == {"ada", "grace", "linus"}
    assert Conversation.all_objects.count() == 9


def test_no_text_changes_but_the_unfinished_words_of_a_librarian(site: Site) -> None:
    now = texts()
    for name in ("runs", "titles", "exchanges"):
        assert now[name] == site.before[name]
    changed = {pk for pk, row in site.before["events"].items() if now["events"][pk] != row}
    halves = RunEvent.objects.filter(pk__in=changed)
    assert {event.run.question for event in halves} == {"Ask a librarian who does not finish."}
    assert {event.content for event in halves} == {""}
    assert {event.data["parent"] for event in halves} == {"call_1_0"}
    said = {site.before["events"][pk][2] for pk in changed}
    assert "Half of what I found, " in said


def test_the_erasure_is_recorded_after_all_earlier_entries(site: Site) -> None:
    entries = site.before["entries"]
    verbs = dict(AuditEntry.objects.values_list("pk", "verb"))
    new = {pk: verb for pk, verb in verbs.items() if pk not in entries}
    assert list(new.values()) == ["erase_unfinished"]
    assert min(new) > max(entries)


def test_the_audit_is_intact(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("audit_verify")
    assert "21 runs checked: all intact." in capsys.readouterr().out


def test_a_change_would_be_found_by_the_audit(site: Site) -> None:
    with override_settings(AUDIT_KEYS=["another"]), pytest.raises(Exception, match="are broken"):
        call_command("audit_verify")


def test_triggers_are_those_of_a_fresh_database(site: Site) -> None:
    assert site.fresh_triggers
    assert installed_triggers() == site.fresh_triggers


def test_settings_are_as_they_were(site: Site) -> None:
    ada, grace = (User.objects.get(username=name) for name in ("ada", "grace"))
    limits = UserAgentConfig.objects.get(user=ada)
    assert (limits.max_iterations, limits.timeout_seconds, limits.token_budget) == (20, 120, 60_000)
    assert UserAgentConfig.objects.get(user=grace).default_tree == "quick"
    assert Appearance.objects.get(user=ada).theme == "dark"
    models = ModelSettings.objects.get(user=grace)
    assert (models.provider, models.oracle_model, models.version) == ("openai", "big", 1)
    assert decrypt(models.sealed_key) == "a-made-up-key-of-ada-0001"
    assert list(ApiToken.objects.filter(revoked_at=None).values_list("name", flat=True)) == ["cron"]


def test_conversations_open_with_what_was_said(site: Site) -> None:
    talk = Conversation.objects.get(title="Next release ⛵")
    path = f"/c/{talk.pk}/"
    shown = site.page("ada", path)
    for text in (
        "Next release ⛵",
        "What is the next release?",
        "Who leads it?",
        "And who decided it?",
    ):
        assert text in shown
    assert "June" in site.page("ada", f"{path}outline/")
    librarian = Conversation.objects.get(title="Ask the librarian.")
    assert "Done with tools." in site.page("ada", f"/c/{librarian.pk}/")


@pytest.mark.parametrize(
    "title", ["Fail.", "Stop at two.", "Tell me at length.", "Ask a librarian who does not finish."]
)
def test_conversations_that_ended_early_open(site: Site, title: str) -> None:
    talk = Conversation.objects.get(title=title)
    shown = site.page("ada", f"/c/{talk.pk}/")
    assert title in shown
    assert "Half of what I found" not in shown


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("/runs/", "Which decisions were taken, and why?"),
        ("/conversations/", "Next release ⛵"),
        ("/search/?q=librarian", "Ask the librarian."),
        ("/settings/", "60000"),
        ("/settings/changes/", "60,000"),
        ("/settings/tokens/", "cron"),
    ],
)
def test_pages_of_ada_open(site: Site, address: str, text: str) -> None:
    assert text in site.page("ada", address)


@pytest.mark.parametrize("name", ["grace", "linus"])
def test_the_audit_pages_open_for_auditors(site: Site, name: str) -> None:
    assert "token_budget" in site.page(name, "/admin/agents/agentrun/")
    for each in AgentRun.objects.all():
        assert each.model in site.page(name, f"/admin/agents/agentrun/{each.pk}/change/")


def test_a_run_from_before_still_belongs_to_its_tree_of_exchanges(site: Site) -> None:
    branch = Exchange.objects.get(run=run("And who decided it?"))
    june = Exchange.objects.get(run=run("What was decided in June?"))
    assert branch.parent_id == june.parent_id
    assert june.label == "June"
    assert branch.parent is not None
    assert branch.parent.checkpoint
