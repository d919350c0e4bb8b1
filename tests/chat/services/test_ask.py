"""Questions made ready: who may ask, where the question hangs, what the model is told of."""

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from agents.core.config import AgentConfig, ConfigError
from agents.models import AgentRun, Membership, ModelSettings, UserAgentConfig
from agents.runtime import SiteRunFactory
from chat.conversations import commands, tree
from chat.errors import InvalidAction, NotFoundForUser, StaleHead
from chat.models import Conversation, Exchange
from chat.services import ask
from chat.services.ask import RunOptions
from tests.chat.factories import Talk, grown, member, started

pytestmark = pytest.mark.django_db


def runs(*exchanges: Exchange) -> tuple[UUID, ...]:
    return tuple(exchange.run_id for exchange in exchanges)


def test_a_first_question_makes_its_conversation() -> None:
    user, project = member("ada")
    asked = ask.start_conversation(user, project.pk, "What is **it**? Tell me.")
    assert not Conversation.all_objects.exists(), "nothing is there before the run"
    exchange = started(asked)
    conversation = exchange.conversation
    assert asked.request.conversation_key == conversation.pk == exchange.run.conversation_key
    assert (conversation.user, conversation.project) == (user, project)
    assert conversation.title == "What is it?"
    assert conversation.head == exchange
    assert exchange.parent is None
    assert asked.request.context_runs == ()


def test_the_id_of_a_new_conversation_may_be_chosen_but_not_taken_over() -> None:
    user, project = member("ada")
    key = uuid4()
    started(ask.start_conversation(user, project.pk, "What is it?", conversation_id=key))
    assert Conversation.objects.get().pk == key
    for name in ("ada", "bob"):
        if name == "bob":
            user, project = member(name)
        again = ask.start_conversation(user, project.pk, "Mine?", conversation_id=key)
        with pytest.raises(StaleHead, match="already exists"):
            started(again)
    assert AgentRun.objects.count() == Exchange.objects.count() == 1


def test_a_deleted_conversation_is_not_begun_again() -> None:
    talk = Talk()
    commands.delete(talk.now)
    with pytest.raises(StaleHead):
        started(ask.start_conversation(talk.user, talk.project.pk, "?", conversation_id=talk.id))


def test_a_question_hangs_under_head_and_moves_it() -> None:
    talk = Talk()
    before = talk.now.updated_at
    later = talk.ask()
    assert later.parent == talk.first
    assert talk.head == later.pk
    assert talk.now.updated_at == later.created_at > before
    assert talk.now.title == "What is it?"
    assert later.run.context_runs == [str(talk.first.run_id)]


def test_asking_under_an_older_exchange_makes_a_branch_with_its_own_past() -> None:
    talk = Talk()
    one, _two = talk.ask("one"), talk.ask("two")
    for context in (one.pk, one.run_id):  # by either id
        asked = ask.ask(talk.user, "Other?", context_id=context)
        assert asked.request.context_runs == runs(talk.first, one)
        assert started(asked).parent == one


def test_an_edited_question_is_a_sibling_that_does_not_know_the_first_version() -> None:
    talk = Talk()
    one = talk.ask("one")
    edited = talk.edit(one, "uno")
    assert edited.parent == talk.first
    assert edited.run.question == "uno"
    assert edited.run.context_runs == [str(talk.first.run_id)]
    root = talk.edit(talk.first, "What was it?")
    assert root.parent is None
    assert root.run.context_runs == []
    assert Exchange.objects.get(pk=one.pk).run.question == "one"


def test_regenerating_asks_the_same_in_the_same_mode_as_a_sibling() -> None:
    talk = Talk()
    one = started(
        ask.ask(talk.user, "one", conversation_id=talk.id, options=RunOptions(tree="quick"))
    )
    again = started(ask.regenerate(talk.user, one.pk))
    assert again.parent == one.parent
    assert (again.run.question, again.run.tree) == ("one", "quick")
    other = started(ask.regenerate(talk.user, one.pk, RunOptions(tree="default")))
    assert other.run.tree == "default"


def test_a_mode_that_is_gone_does_not_stand_in_the_way_of_regenerating() -> None:
    talk = Talk()
    AgentRun.objects.update(tree="uninstalled")
    assert ask.regenerate(talk.user, talk.first.pk).request.tree == "default"


def test_regenerating_a_continuation_continues_the_same_run() -> None:
    talk = Talk()
    one = talk.ask()
    AgentRun.objects.filter(pk=one.run_id).update(continued_from=talk.first.run)
    request = ask.regenerate(talk.user, one.pk).request
    assert request.continued_from == talk.first.run_id


def test_no_more_than_max_context_nodes_are_replayed_and_they_are_the_newest() -> None:
    talk = Talk()
    grown(talk, 12)
    settings = ModelSettings.for_user(talk.user)
    settings.max_context_nodes = 5
    settings.save()
    asked = ask.ask(talk.user, "?", conversation_id=talk.id)
    newest = tree.get_path_segment(talk.head, 5).exchanges
    assert asked.request.context_runs == runs(*newest)


def test_the_user_s_settings_hold_unless_this_question_says_otherwise() -> None:
    talk = Talk()
    row = UserAgentConfig.for_user(talk.user)
    row.max_iterations, row.default_tree = 7, "quick"
    row.save()
    request = ask.ask(talk.user, "?", conversation_id=talk.id).request
    assert (request.config, request.tree) == (AgentConfig(max_iterations=7), "quick")
    how = RunOptions(tree="default", overrides={"token_budget": 2_000}, client_message_id="m1")
    request = ask.ask(talk.user, "?", conversation_id=talk.id, options=how).request
    assert request.config == AgentConfig(max_iterations=7, token_budget=2_000)
    assert (request.tree, request.client_message_id) == ("default", "m1")


def test_a_limit_out_of_bounds_is_refused_with_what_is_in_force() -> None:
    talk = Talk()
    with pytest.raises(ConfigError, match="Still using 15"):
        ask.ask(
            talk.user,
            "?",
            conversation_id=talk.id,
            options=RunOptions(overrides={"max_iterations": 99}),
        )


@pytest.mark.parametrize(
    ("question", "how", "words"),
    [
        (" \n\t", RunOptions(), "is empty"),
        ("x" * 16_001, RunOptions(), "16,001 characters; 16,000 are allowed"),
        ("?", RunOptions(tree="unheard of"), "no mode 'unheard of'. Known: default"),
        ("?", RunOptions(client_message_id="x" * 65), "1 to 64 visible characters"),
        ("?", RunOptions(client_message_id=""), "1 to 64 visible characters"),
        ("?", RunOptions(client_message_id="a\x00"), "1 to 64 visible characters"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(
    question: str, how: RunOptions, words: str
) -> None:
    talk = Talk()
    with pytest.raises(InvalidAction, match=words):
        ask.ask(talk.user, question, conversation_id=talk.id, options=how)


def test_a_question_no_database_would_take_is_mended() -> None:
    talk = Talk()
    later = talk.ask(" a\x00b \ud83d\ude00 \ud800\n")
    assert later.run.question == "a\ufffdb \U0001f600 \ufffd"


def test_a_question_for_no_conversation_is_refused() -> None:
    with pytest.raises(InvalidAction, match="which conversation"):
        ask.ask(Talk().user, "?")


def test_nobody_asks_in_another_s_conversation_or_project() -> None:
    talk = Talk()
    bob, _ = member("bob", talk.project)  # a member of the project, but not the one who asks
    one = talk.first.pk
    attempts: list[Any] = [
        lambda: ask.ask(bob, "?", conversation_id=talk.id),
        lambda: ask.ask(bob, "?", context_id=one),
        lambda: ask.ask(bob, "?", context_id=talk.first.run_id),
        lambda: ask.edit_question(bob, one, "?"),
        lambda: ask.regenerate(bob, one),
        lambda: ask.start_conversation(bob, Talk(name="eve").project.pk, "?"),
    ]
    for attempt in attempts:
        with pytest.raises(NotFoundForUser):
            attempt()


def test_who_has_left_the_project_can_no_longer_ask_there() -> None:
    talk = Talk()
    Membership.objects.filter(user=talk.user).delete()
    attempts: list[Any] = [
        lambda: talk.ask(),
        lambda: talk.ask(under=talk.first),
        lambda: ask.start_conversation(talk.user, talk.project.pk, "?"),
    ]
    for attempt in attempts:
        with pytest.raises(NotFoundForUser):
            attempt()


def test_a_context_of_another_conversation_is_refused() -> None:
    talk = Talk()
    other = started(ask.start_conversation(talk.user, talk.project.pk, "Elsewhere?"))
    with pytest.raises(NotFoundForUser, match="not in this conversation"):
        ask.ask(talk.user, "?", conversation_id=talk.id, context_id=other.pk)


def test_a_question_at_head_is_refused_once_head_has_moved() -> None:
    talk = Talk()
    late = ask.ask(talk.user, "late", conversation_id=talk.id)
    talk.ask("early")
    with pytest.raises(StaleHead, match="was just asked"):
        started(late)
    assert not AgentRun.objects.filter(question="late").exists()


def test_a_question_under_a_named_exchange_does_not_mind_where_head_is() -> None:
    talk = Talk()
    late = ask.ask(talk.user, "late", context_id=talk.first.pk)
    talk.ask("early")
    assert started(late).parent == talk.first


def test_nothing_is_asked_in_a_conversation_that_is_deleted_meanwhile() -> None:
    talk = Talk()
    late = ask.ask(talk.user, "late", conversation_id=talk.id)
    commands.delete(talk.now)
    with pytest.raises(NotFoundForUser):
        started(late)
    with pytest.raises(NotFoundForUser):
        ask.ask(talk.user, "?", conversation_id=talk.id)


def test_nothing_is_asked_under_an_exchange_that_is_pruned_meanwhile() -> None:
    talk = Talk()
    one = talk.ask()
    talk.edit(one)
    late = ask.ask(talk.user, "late", context_id=one.pk)
    tree.prune(talk.now)
    with pytest.raises(InvalidAction, match="was pruned"):
        started(late)


# -- models ---------------------------------------------------------------------------------------


@pytest.fixture
def endpoint(settings: Settings) -> None:
    settings.ORACLE_LLM_BASE_URL = "http://127.0.0.1:9/v1"
    settings.ORACLE_LLM_MODEL, settings.ORACLE_LLM_MODELS = "first", ("second", "first")


@pytest.mark.usefixtures("endpoint")
def test_the_models_to_choose_from_are_ones_own_and_the_sites() -> None:
    talk = Talk()
    assert ModelSettings.for_user(talk.user).models == ("first", "second")
    ModelSettings.objects.filter(user=talk.user).update(oracle_model="mine")
    assert ModelSettings.for_user(talk.user).models == ("mine", "second", "first")


@pytest.mark.usefixtures("endpoint")
def test_a_question_may_name_its_model_but_only_one_that_is_offered() -> None:
    talk = Talk()
    how = RunOptions(model="second")
    assert ask.ask(talk.user, "?", conversation_id=talk.id, options=how).request.model == "second"
    assert ask.ask(talk.user, "?", conversation_id=talk.id).request.model == ""
    with pytest.raises(InvalidAction, match="no model 'third'"):
        ask.ask(talk.user, "?", conversation_id=talk.id, options=RunOptions(model="third"))


def test_the_embedded_model_is_alone() -> None:
    talk = Talk()
    assert ModelSettings.for_user(talk.user).models == ()
    with pytest.raises(InvalidAction, match="no model 'second'"):
        ask.ask(talk.user, "?", conversation_id=talk.id, options=RunOptions(model="second"))


@pytest.mark.usefixtures("endpoint")
def test_regenerating_asks_the_same_model_while_it_is_offered() -> None:
    talk = Talk()
    AgentRun.objects.update(model="second")
    assert ask.regenerate(talk.user, talk.first.pk).request.model == "second"
    AgentRun.objects.update(model="gone")
    assert ask.regenerate(talk.user, talk.first.pk).request.model == ""


@pytest.mark.parametrize("how", ["first", "next", "again"])
def test_the_settings_of_models_are_read_once_for_a_question(how: str) -> None:
    """Up to the model and the tools that it is answered with."""
    talk = Talk()
    ModelSettings.for_user(talk.user)  # made when they are first needed
    factory = SiteRunFactory(httpx.AsyncClient(), httpx.AsyncClient())
    with CaptureQueriesContext(connection) as queries:
        match how:
            case "first":
                asked = ask.start_conversation(talk.user, talk.project.pk, "?")
            case "next":
                asked = ask.ask(talk.user, "?", conversation_id=talk.id)
            case _:
                asked = ask.regenerate(talk.user, talk.first.pk)
        factory.tools(asked.request, factory.model(asked.request), uuid4())
    table = ModelSettings._meta.db_table
    assert len([each for each in queries if f'FROM "{table}"' in each["sql"]]) == 1
