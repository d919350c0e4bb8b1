"""A tree that is internal is no mode: nowhere offered, refused where it is chosen, still read."""

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.exceptions import ValidationError
from django.core.management import CommandError
from django.test import Client
from pytest_django import Settings

from agents.admin.what_if import forms
from agents.core.decisions.protocol import TREES
from agents.core.replay.engine import replay
from agents.management.arguments import parse_tree
from agents.models import AgentRun, UserAgentConfig
from agents.replay_source import load_recordings
from agents.runtime import list_modes
from chat.api.errors import ApiError
from chat.api.runs import _prepare_run
from chat.api.schemas import Ask
from chat.errors import InvalidAction
from chat.services import ask, continue_run
from chat.services.ask import RunOptions
from settings_ui.forms.agent import AGENT_FIELDS
from settings_ui.forms.base import ChoiceSetting, save
from tests.agents.admin.fixtures import auditor, page_of
from tests.agents.audit.stored_runs import FIVE_TURNS, stored
from tests.chat.factories import Talk
from tests.support.history_rewriting import rewritable
from tests.support.pages import Page

pytestmark = pytest.mark.django_db
INTERNAL = "librarian"
OFFERED = ("default", "quick")
KNOWN = "Known: default, quick"


def options(html: str, name: str) -> list[str]:
    """The values of a select."""
    chosen = html.partition(f'name="{name}"')[2].partition("</select>")[0]
    return [at["value"] for at in Page(f"<select>{chosen.partition('>')[2]}").all("option")]


def test_the_subagents_tree_is_registered_but_not_offered() -> None:
    assert INTERNAL in TREES
    assert TREES.is_internal(INTERNAL)
    assert TREES.names()[:2] == OFFERED
    assert INTERNAL not in TREES.names()


def test_it_is_not_in_the_composer_and_refused_by_it() -> None:
    talk = Talk()
    client = Client()
    client.force_login(talk.user)
    html = client.get("/new/", secure=True).content.decode()
    assert options(html, "tree") == [mode.name for mode in list_modes(talk.user)]
    assert [name for name in options(html, "tree") if name in TREES] == list(TREES.names())
    with pytest.raises(InvalidAction, match=KNOWN):
        ask.ask(talk.user, "?", conversation_id=talk.id, options=RunOptions(tree=INTERNAL))


def test_it_is_not_in_the_settings_and_refused_by_them() -> None:
    user = User.objects.create_user("ada")
    choice = AGENT_FIELDS["default_tree"]
    assert isinstance(choice, ChoiceSetting)
    assert list(choice.labels) == ["", *(mode.name for mode in list_modes())]
    assert INTERNAL not in choice.labels
    assert save(user, choice, INTERNAL).status == 422
    row = UserAgentConfig.for_user(user)
    row.default_tree = INTERNAL
    with pytest.raises(ValidationError, match=KNOWN):
        row.full_clean()


def test_it_is_not_in_the_api_and_refused_by_it() -> None:
    user = Talk().user
    with pytest.raises(ApiError) as refused:
        _prepare_run(user, Ask.model_validate({"question": "Why?", "tree": INTERNAL}))
    (detail,) = refused.value.details
    assert (refused.value.status, detail.loc) == (422, ("body", "tree"))
    assert KNOWN in detail.msg


def test_it_is_not_in_the_what_if_form_and_refused_by_it() -> None:
    field = forms.TreeField()
    assert [name for name in (*TREES.names(), INTERNAL) if field.valid_value(name)] == [
        *TREES.names()
    ]
    form = forms.WhatIfForm({forms.TREE_PARAM: INTERNAL})
    assert KNOWN in str(form.errors[forms.TREE_PARAM])


def test_it_is_refused_on_the_command_line_and_as_the_sites_default(
    settings: Settings,
) -> None:
    with pytest.raises(CommandError, match=KNOWN):
        parse_tree(INTERNAL)
    settings.ORACLE_DEFAULT_TREE = INTERNAL
    (error,) = run_checks(tags=["agents"])
    assert error.id == "agents.E003"
    assert KNOWN in error.msg


def test_whoever_had_saved_it_asks_with_the_sites_default() -> None:
    talk = Talk()
    UserAgentConfig.for_user(talk.user)
    UserAgentConfig.objects.update(default_tree=INTERNAL)
    request = ask.ask(talk.user, "?", conversation_id=talk.id).request
    assert request.tree == "default"


def test_an_old_run_that_names_it_is_shown_played_again_and_asked_anew() -> None:
    run = stored(FIVE_TURNS, tree=INTERNAL)
    assert INTERNAL in page_of(run, auditor()).text()
    (recording,) = load_recordings(AgentRun.objects.filter(pk=run.pk))
    assert replay(recording).kind == "same"
    talk = Talk("Why?", name="bob")
    with rewritable():
        AgentRun.objects.filter(pk=talk.first.run_id).update(
            tree=INTERNAL, outcome="limited", reason="max_iterations"
        )
    assert ask.regenerate(talk.user, talk.first.pk).request.tree == "default"
    assert continue_run.continue_run(talk.user, talk.first.pk).request.tree == "default"
