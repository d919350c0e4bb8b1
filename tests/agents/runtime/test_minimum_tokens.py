"""The smallest budgets that the settings name are those that real runs need."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.cache import cache
from pytest_django import Settings

from agents.core.chunks import Done
from agents.core.config import AgentConfig
from agents.llm import build_http_client
from agents.models import Project
from agents.runtime import RunRequest, Runtime
from agents.runtime.factory import SiteRunFactory
from agents.runtime.minimum_tokens import SAMPLE_QUESTION, MinimumTokens, minimum_tokens_for
from agents.runtime.modes import list_modes
from agents.vault.sample import add_sample_notes
from tests.agents.runtime.fake_factory import followed, people
from tests.support.endpoint import ScriptedEndpoint
from tests.support.notes import add_notes
from tests.support.script import Script, say

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def site(settings: Settings, tmp_path: Path) -> Iterator[None]:
    settings.DATA_DIR, settings.ORACLE_LLM_BASE_URL = tmp_path, ""
    settings.ORACLE_LLM_MODEL, settings.ORACLE_LLM_MODELS = "scripted", ()
    cache.clear()
    yield
    cache.clear()


@asynccontextmanager
async def site_endpoint(settings: Settings) -> AsyncIterator[ScriptedEndpoint]:
    async with ScriptedEndpoint(Script([], then=say("So."), unused_ok=True)) as endpoint:
        settings.ORACLE_LLM_BASE_URL = endpoint.base_url
        yield endpoint


def add_many_notes(project: Project) -> None:
    """So many that their list is as long as it may be."""
    names = [f"a note with quite a long name, number {number:03}" for number in range(40)]
    add_notes(project, **dict.fromkeys(names, ""))


async def ask(user: User, project: Project, budget: int, tree: str = "default") -> str:
    """The reason why a run with this budget ended."""
    config = AgentConfig(token_budget=budget)
    request = RunRequest(
        user=user, project=project, question=SAMPLE_QUESTION, config=config, tree=tree
    )
    async with build_http_client() as http, Runtime(SiteRunFactory(http, http)) as runtime:
        row = await runtime.start(request)
        done = (await followed(runtime, row.pk))[-1]
    assert isinstance(done, Done)
    return done.termination_reason


async def known(user: User) -> MinimumTokens:
    needs = await sync_to_async(minimum_tokens_for)(user)
    assert needs is not None
    return needs


@pytest.mark.parametrize("tree", ["default", "quick"])
async def test_tools_are_offered_from_the_named_budget_on_and_not_below(
    settings: Settings, tree: str
) -> None:
    user, project = await people()
    await sync_to_async(add_sample_notes)(project)
    async with site_endpoint(settings) as endpoint:
        needs = await known(user)
        assert (needs.project, needs.model) == ("engine", "scripted")
        assert needs.budgets.tools is not None
        assert await ask(user, project, needs.budgets.tools, tree) == "completed"
        assert await ask(user, project, needs.budgets.tools - 1, tree) == "token_budget"
        with_tools, without = endpoint.requests
        assert with_tools.body["tools"]
        assert "tools" not in without.body


async def test_an_answer_comes_from_the_named_budget_on_and_not_below(settings: Settings) -> None:
    user, project = await people()
    await sync_to_async(add_many_notes)(project)
    async with site_endpoint(settings) as endpoint:
        needs = await known(user)
        assert needs.budgets.answer is not None
        for budget in (needs.budgets.answer, needs.budgets.answer - 1):
            assert await ask(user, project, budget) == "token_budget"
        assert len(endpoint.requests) == 1


async def test_the_embedded_model_has_fewer_tools_and_needs_less(settings: Settings) -> None:
    user, _ = await people()
    embedded = await known(user)
    assert embedded.model == "the embedded model"
    async with site_endpoint(settings):
        other = await known(user)
    assert embedded.budgets.tools is not None
    assert other.budgets.tools is not None
    assert embedded.budgets.tools < other.budgets.tools


async def test_more_notes_need_more(settings: Settings) -> None:
    user, project = await people()
    before = await known(user)
    await sync_to_async(add_sample_notes)(project)
    cache.clear()
    after = await known(user)
    assert after.budgets.answer is not None
    assert before.budgets.answer is not None
    assert after.budgets.answer > before.budgets.answer


async def test_whoever_is_in_no_project_needs_nothing() -> None:
    user = await User.objects.acreate(username="eve")
    assert await sync_to_async(minimum_tokens_for)(user) is None


async def test_with_a_thousand_tokens_every_mode_ends_properly(settings: Settings) -> None:
    user, project = await people()
    await sync_to_async(add_many_notes)(project)
    modes = [mode.name for mode in await sync_to_async(list_modes)(user)]
    assert {"default", "quick", "plan-then-do", "ask-first", "deep-research"} <= set(modes)
    async with site_endpoint(settings):
        for mode in modes:
            assert await ask(user, project, 1_000, mode) == "token_budget", mode
