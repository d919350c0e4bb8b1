"""Modes: what is offered to whom, what a name stands for, and what a run keeps of it."""

import os
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.audit.erasure import erase
from agents.audit.verify import verify_run
from agents.core.behaviours.outline import parse_outline
from agents.core.decisions import TREES
from agents.core.registry import NotRegistered
from agents.models import AgentRun, BehaviourText, StoredBehaviour
from agents.runtime import RunRefused, Runtime, get_mode, list_modes
from tests.agents.models.factories import ada
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.script import say
from tests.support.scripted_model import ScriptedModel

TEXT = (
    '(tree "mine" :description "My way." :decision-tree "quick" (repeater :until-success (turn)))'
)


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path


@pytest.mark.django_db
def test_trees_come_first_then_the_shipped_ones_and_the_default_driver_is_not_offered_twice() -> (
    None
):
    names = [mode.name for mode in list_modes(ada())]
    assert names[:2] == ["default", "quick"]
    assert [name for name in names if name not in TREES.names()][:4] == [
        "plan-then-do",
        "checked-answer",
        "deep-research",
        "ask-first",
    ]
    assert "oracle-agent" not in names
    assert get_mode("oracle-agent").tree == "default"


@pytest.mark.django_db
def test_every_mode_that_comes_with_oracle_has_a_sentence() -> None:
    assert all(mode.description.endswith(".") for mode in list_modes(None))


@pytest.mark.django_db
def test_an_own_behaviour_is_its_writers_mode_with_the_tree_that_it_names() -> None:
    user, other = ada(), User.objects.create_user("bob")
    StoredBehaviour.objects.create(name="mine", text=TEXT, level="own", user=user)
    mode = get_mode("mine", user)
    assert (mode.tree, mode.description, mode.level) == ("quick", "My way.", "own")
    assert mode.behaviour is not None
    assert mode.behaviour.text == TEXT
    with pytest.raises(NotRegistered, match=r"There is no mode 'mine'\. Known: default, quick"):
        get_mode("mine", other)
    StoredBehaviour.objects.update(text="(tree")
    with pytest.raises(NotRegistered, match="'mine' cannot be read any more: 1:"):
        get_mode("mine", user)


@pytest.mark.django_db
def test_a_subagents_tree_is_no_mode() -> None:
    with pytest.raises(NotRegistered, match="Known: default, quick"):
        get_mode("librarian", ada())


@sync_to_async
def own(user: User, text: str = TEXT) -> None:
    StoredBehaviour.objects.update_or_create(
        user=user, level="own", name="mine", defaults={"text": text}
    )


@pytest.mark.django_db(transaction=True)
async def test_a_run_keeps_the_text_that_it_began_with_once_and_after_it_is_gone() -> None:
    request = await asked(tree="mine")
    await own(request.user)
    model = ScriptedModel([say("One."), say("Two.")])
    async with Runtime(ScriptedRunFactory(model)) as runtime:
        for _ in range(2):
            row = await runtime.start(request)
            await followed(runtime, row.pk)
    await StoredBehaviour.objects.all().adelete()
    stored = await AgentRun.objects.aget(pk=row.pk)
    assert (stored.tree, stored.behaviour, stored.mode) == ("quick", "mine", "mine")
    text = await BehaviourText.objects.aget()
    assert (text.digest, text.text) == (stored.behaviour_digest, TEXT)
    assert [node.kind for node in parse_outline(text.outline).nodes] == ["repeater", "turn"]
    assert await sync_to_async(verify_run)(stored) is None


@pytest.mark.django_db(transaction=True)
async def test_a_behaviour_is_erased_with_the_words_of_the_last_run_that_began_with_it() -> None:
    request = await asked(tree="mine")
    await own(request.user)
    async with Runtime(ScriptedRunFactory(ScriptedModel([say("One."), say("Two.")]))) as runtime:
        rows = [await runtime.start(request) for _ in range(2)]
        for row in rows:
            await followed(runtime, row.pk)
    await sync_to_async(erase)([rows[0].pk], why="a test")
    assert await BehaviourText.objects.acount() == 1
    await sync_to_async(request.user.delete)()
    assert not await BehaviourText.objects.aexists()
    assert not await StoredBehaviour.objects.aexists()
    assert await sync_to_async(verify_run)(await AgentRun.objects.aget(pk=rows[1].pk)) is None


@pytest.mark.django_db(transaction=True)
async def test_a_run_whose_mode_was_deleted_meanwhile_is_refused_and_nothing_is_stored() -> None:
    request = await asked(tree="mine")
    async with Runtime(ScriptedRunFactory(ScriptedModel([]))) as runtime:
        with pytest.raises(RunRefused, match="There is no mode 'mine'"):
            await runtime.start(request)
    assert not await AgentRun.objects.aexists()


@pytest.mark.django_db(transaction=True)
async def test_a_changed_file_drives_the_next_run_and_a_broken_one_none(
    tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "behaviours").mkdir()
    path = tmp_path / "behaviours" / "filed.lisp"
    first = '(tree "filed" (repeater :until-success (turn)))'
    texts = [first, first.replace("(turn)", '(turn :say "Be brief.")'), "(tree"]
    request = await asked(tree="filed")
    digests = []
    async with Runtime(ScriptedRunFactory(ScriptedModel([say("So.")] * 3))) as runtime:
        for moment, text in enumerate(texts, start=1_000_000_000):
            path.write_text(text)
            os.utime(path, (moment, moment))
            row = await runtime.start(request)
            await followed(runtime, row.pk)
            digests.append(row.behaviour_digest)
    assert digests[0] != digests[1]
    assert digests[2] == digests[1]
    assert await BehaviourText.objects.acount() == 2
