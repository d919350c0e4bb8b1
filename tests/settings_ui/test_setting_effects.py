"""What iterations and tokens come to, for the project, the model and the mode of somebody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from pytest_django import Settings

from agents.core.decisions.protocol import TREES
from agents.core.loop import MinimumBudgets
from agents.models import ModelSettings, Project, UserAgentConfig
from agents.runtime import MinimumTokens, minimum_tokens_for
from agents.settings_service import update_settings
from settings_ui import setting_effects
from settings_ui.setting_effects import SettingEffect, describe_effects
from tests.agents.models.factories import ada as make_ada
from tests.agents.models.factories import engine
from tests.settings_ui.input_cases import browser
from tests.support.notes import add_notes
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def site(settings: Settings, tmp_path: Path) -> Iterator[None]:
    settings.DATA_DIR, settings.ORACLE_LLM_BASE_URL = tmp_path, ""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def ada() -> User:
    user = make_ada()
    engine(user)
    return user


def get_effect(user: User, name: str, **values: Any) -> SettingEffect:
    row = update_settings(UserAgentConfig, user, values)
    return next(each for each in describe_effects(user, row) if each.name == name)


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (1, "No iteration with tools: the only one is for the answer."),
        (2, "1 iteration with tools, and one for the answer."),
        (15, "14 iterations with tools, and one for the answer."),
    ],
)
def test_one_of_the_iterations_is_for_the_answer(ada: User, most: int, words: str) -> None:
    assert get_effect(ada, "max_iterations", max_iterations=most) == SettingEffect(
        "max_iterations", words
    )


def test_a_mode_that_allows_less_says_so(ada: User) -> None:
    words = "In the mode quick, 4 iterations with tools, and one for the answer."
    assert get_effect(ada, "max_iterations", default_tree="quick").text == words
    own = get_effect(ada, "max_iterations", default_tree="quick", max_iterations=3).text
    assert own == "2 iterations with tools, and one for the answer."


def test_a_mode_that_is_not_known_any_more_changes_nothing(ada: User) -> None:
    UserAgentConfig.objects.create(user=ada, default_tree="gone")
    found = describe_effects(ada, UserAgentConfig.for_user(ada))
    assert [each.name for each in found] == ["max_iterations", "token_budget"]


def test_the_budget_from_which_tools_can_be_used_is_said(ada: User) -> None:
    needs = minimum_tokens_for(ada)
    assert needs is not None
    assert needs.budgets.tools is not None
    rounded = f"{-(-needs.budgets.tools // 100) * 100:,}"
    assert get_effect(ada, "token_budget") == SettingEffect(
        "token_budget",
        "In a new conversation in engine, with the embedded model, tools can be used from about "
        f"{rounded} tokens on.",
    )
    below = get_effect(ada, "token_budget", token_budget=needs.budgets.tools - 1)
    assert below.warns
    assert below.text.startswith(f"With {needs.budgets.tools - 1:,} tokens no tool can be used")
    assert not get_effect(ada, "token_budget", token_budget=needs.budgets.tools).warns


@pytest.mark.parametrize("tree", ["", *TREES.names()])
def test_a_thousand_tokens_read_sensibly_in_every_mode(ada: User, tree: str) -> None:
    project = Project.objects.get(name="engine")
    names = [f"a note with quite a long name, number {number:03}" for number in range(40)]
    add_notes(project, **dict.fromkeys(names, ""))
    found = get_effect(ada, "token_budget", token_budget=1_000, default_tree=tree)
    assert found.warns
    assert found.text.startswith(
        "1,000 tokens are too few. In a new conversation in engine, with the embedded model, an "
        "answer takes about 1,"
    )
    assert ", and to use tools about " in found.text


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        (MinimumBudgets(None, None), "no question fits: the context of the model is too small."),
        (MinimumBudgets(600, None), "no tool can be used: the context of the model is too small"),
        (MinimumBudgets(99_000, None), "an answer takes about 99,000."),
    ],
)
def test_a_model_that_is_too_small_is_said(
    ada: User, monkeypatch: pytest.MonkeyPatch, budgets: MinimumBudgets, words: str
) -> None:
    monkeypatch.setattr(
        setting_effects, "minimum_tokens_for", lambda user: MinimumTokens(budgets, "engine", "tiny")
    )
    found = get_effect(ada, "token_budget")
    assert found.warns
    assert words in found.text


def test_another_model_needs_another_budget(ada: User, settings: Settings) -> None:
    settings.ORACLE_LLM_BASE_URL = "https://models.example/v1"
    update_settings(ModelSettings, ada, {"oracle_model": "qwen3"})
    assert "in engine, with qwen3, tools" in get_effect(ada, "token_budget").text


def test_whoever_is_in_no_project_is_told_nothing_of_it() -> None:
    user = User.objects.create_user("eve")
    assert [each.name for each in describe_effects(user, UserAgentConfig.for_user(user))] == [
        "max_iterations"
    ]


def test_only_what_can_be_otherwise_is_said_again(ada: User) -> None:
    row = UserAgentConfig.for_user(ada)
    for changed, names in {
        "max_iterations": ["max_iterations"],
        "token_budget": ["token_budget"],
        "default_tree": ["max_iterations", "token_budget"],
        "timeout_seconds": [],
    }.items():
        assert [each.name for each in describe_effects(ada, row, changed)] == names


# -- on the page ----------------------------------------------------------------------------------


def test_the_page_and_every_save_say_it(ada: User) -> None:
    client = browser(ada)
    html = client.get("/settings/", secure=True).content.decode()
    assert problems(html) == []
    assert "14 iterations with tools, and one for the answer." in Page(html).text()
    assert "tools can be used from about" in Page(html).text()
    assert 'class="amber"' not in html
    for path, value in (("token_budget/", "1,000"), ("token_budget/reset/", "")):
        answer = client.post(
            f"/settings/limits/{path}", {"value": value}, secure=True, headers=HTMX
        ).content.decode()
        assert answer.count('id="token_budget-meaning"') == 1
        assert ("amber" in answer) is (value == "1,000")
    chosen = {"value": "quick"}
    saved = client.post("/settings/limits/default_tree/", chosen, secure=True, headers=HTMX)
    text = Page(saved.content.decode()).text()
    assert "In the mode quick, 4 iterations with tools" in text
    assert "a run ends after 5 iterations, 50,000 tokens or 45 seconds" in text
