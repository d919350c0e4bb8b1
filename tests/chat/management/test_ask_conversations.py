"""Where `manage.py ask` puts its run: in a conversation that the chat page lists."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from agents.llm.embedded import model as offline
from agents.models import AgentRun, Membership, Project
from chat.conversations import commands, queries
from chat.conversations.titles import make_title
from chat.models import Conversation, Exchange
from tests.agents.models.factories import process
from tests.support.pages import Page

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "When did the work begin? I have to know."


@pytest.fixture(autouse=True)
def answers_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded model takes its time between words, to be read."""
    monkeypatch.setattr(offline, "_MOST_SECONDS", 0.0)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def ask(question: str, *options: str, user: str = "ada", code: int = 0) -> AgentRun:
    """The run of a question in the terminal, as it is stored."""
    known = set(AgentRun.objects.values_list("pk", flat=True))
    with pytest.raises(SystemExit) as left:
        call_command("ask", question, "--user", user, *options)
    assert left.value.code == code
    return AgentRun.objects.exclude(pk__in=known).get()


def refusal(*options: str, question: str = "Why?", user: str = "ada") -> str:
    """What is said about a question that is not asked, which leaves nothing behind."""
    before = AgentRun.objects.count(), Conversation.all_objects.count()
    with pytest.raises(CommandError) as refused:
        call_command("ask", question, "--user", user, *options)
    assert (AgentRun.objects.count(), Conversation.all_objects.count()) == before
    return str(refused.value)


def listed(user: User) -> str:
    client = Client()
    client.force_login(user)
    return Page(client.get("/conversations/", secure=True).content.decode()).text()


def test_a_question_begins_a_conversation_that_the_chat_page_lists_and_shows(ada: User) -> None:
    run = ask(QUESTION)
    talk = queries.get(ada, run.conversation_key or uuid4())
    assert talk.title == make_title(QUESTION) == "When did the work begin?"
    assert Exchange.objects.get(run=run) == talk.head
    assert talk.title in listed(ada)
    client = Client()
    client.force_login(ada)
    shown = client.get(f"/c/{talk.pk}/", secure=True).content.decode()
    assert "12 January 2026" in Page(shown).text()


def test_each_question_begins_one_of_its_own(ada: User) -> None:
    assert ask(QUESTION).conversation_key != ask(QUESTION).conversation_key
    assert queries.for_user(ada).count() == 2


def test_a_conversation_is_continued_at_its_head(ada: User) -> None:
    first = ask(QUESTION)
    second = ask("And who leads it?", "--conversation", str(first.conversation_key))
    exchange = Exchange.objects.get(run=second)
    assert exchange.parent == Exchange.objects.get(run=first)
    assert exchange.conversation.head == exchange
    assert second.context_runs == [str(first.pk)]
    assert queries.for_user(ada).count() == 1


def test_active_is_the_newest_conversation_of_the_project_or_a_new_one(ada: User) -> None:
    older = ask("First?", "--conversation", "active")
    newer = ask("Second?")
    assert older.conversation_key != newer.conversation_key
    third = ask("Third?", "--conversation", "active")
    assert third.conversation_key == newer.conversation_key
    exchange = Exchange.objects.get(run=third)
    assert exchange.parent is not None
    assert exchange.parent.run_id == newer.pk
    ask("Fourth?", "--conversation", str(older.conversation_key))
    fifth = ask("Fifth?", "--conversation", "active")
    assert fifth.conversation_key == older.conversation_key


def test_continue_hangs_the_child_under_its_run_in_the_same_mode(ada: User) -> None:
    first = ask(QUESTION, "--tree", "quick", "--set", "max_iterations=1")
    other = ask("And who leads it?", "--conversation", str(first.conversation_key))
    assert first.outcome == "limited"
    child = ask("Go on.", "--continue", str(first.pk))
    exchange = Exchange.objects.get(run=child)
    assert exchange.parent == Exchange.objects.get(run=first)
    assert exchange.parent == Exchange.objects.get(run=other).parent
    assert (child.continued_from, child.tree) == (first, "quick")
    assert child.conversation_key == first.conversation_key


def test_a_run_that_is_in_no_conversation_is_continued_in_a_new_one(ada: User) -> None:
    """Those of the terminal were in none, once."""
    project = Project.objects.create(name="engine")
    Membership.objects.create(project=project, user=ada)
    alone = AgentRun.objects.create(
        user=ada,
        project=project,
        question="Who leads it?",
        tree="default",
        model="scripted",
        config={},
        outcome="limited",
        reason="max_iterations",
    )
    child = ask("And then?", "--continue", str(alone.pk))
    assert child.continued_from == alone
    assert Exchange.objects.get(run=child).conversation.title == "And then?"


def test_a_conversation_that_cannot_be_asked_in_is_refused_in_words(ada: User) -> None:
    assert "'xyz' is not the id of a conversation" in refusal("--conversation", "xyz")
    unknown = str(uuid4())
    assert refusal("--conversation", unknown) == f"There is no conversation {unknown} of yours."
    User.objects.create_user("eve")
    hers = str(ask(QUESTION, user="eve").conversation_key)
    assert refusal("--conversation", hers) == f"There is no conversation {hers} of yours."
    deleted = str(ask(QUESTION).conversation_key)
    commands.delete(Conversation.objects.get(pk=deleted))
    assert f"There is no conversation {deleted}" in refusal("--conversation", deleted)


def test_a_busy_conversation_is_refused_in_words(ada: User) -> None:
    run = ask(QUESTION)
    AgentRun.objects.create(
        user=ada,
        project=run.project,
        question="And then?",
        conversation_key=run.conversation_key,
        tree="default",
        model="scripted",
        config={},
        owner=process(),
    )
    said = refusal("--conversation", str(run.conversation_key))
    assert said.startswith("A run is already in progress in this conversation.")


def test_options_that_contradict_one_another_are_refused_in_words(ada: User) -> None:
    first, second = ask(QUESTION), ask(QUESTION)
    here = ("--conversation", str(first.conversation_key))
    assert f"Run {second.pk} is not in conversation" in refusal(*here, "--continue", str(second.pk))
    elsewhere = ("--project", "engine")
    assert "is in the project 'Tidewatch'" in refusal(*here, *elsewhere)
    earlier = ("--continue", str(first.pk))
    assert f"Run {first.pk} is in the project 'Tidewatch'" in refusal(*earlier, *elsewhere)
    assert "is empty" in refusal(question="  ")
    assert "Known: default, quick" in refusal("--tree", "librarian")
