"""How many tokens a run of somebody needs at least: for the settings, before anything is asked."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.cache import cache

from agents.core.loop import ConversationInput, MinimumBudgets, minimum_budgets
from agents.core.tokens import schema_chars
from agents.endpoints.selection import model_name
from agents.llm import OfflineModel, get_capabilities
from agents.models import ModelSettings, Project
from agents.projects.members import first_project_for
from agents.projects.queries import can_write
from agents.runtime.factory import build_world, offered_tools
from agents.runtime.system_prompt import build_system_prompt
from agents.vault.author import Author

SAMPLE_QUESTION = "?" * 200
"""A short question stands for all."""
CACHE_SECONDS = 60
"""How long the size of a system prompt is good for: making it looks at every note."""


@dataclass(frozen=True, slots=True)
class MinimumTokens:
    """The smallest budgets of a new conversation, and where and with what they hold."""

    budgets: MinimumBudgets
    project: str
    model: str


def minimum_tokens_for(user: User) -> MinimumTokens | None:
    """Return what somebody's next question needs, asked as a new conversation asks it; None if they
    are in no project. Old conversations need more: they are replayed."""
    project = first_project_for(user)
    if project is None:
        return None
    chosen = ModelSettings.for_user(user)
    name = model_name("", chosen)
    window = OfflineModel.window if chosen.is_embedded else get_capabilities(name).window
    writing = can_write(user, project)
    world = build_world(project.pk, Author.person(user.pk))
    offered = offered_tools(chosen, world, writing=writing)
    tools = schema_chars([tool.schema for tool in offered])
    return MinimumTokens(
        minimum_budgets(_prompt_chars(project, writing), tools, window),
        project.name,
        "the embedded model" if chosen.is_embedded else name or "your model",
    )


def _prompt_chars(project: Project, writing: bool) -> int:
    def measure() -> int:
        system = build_system_prompt(project, can_write=writing)
        return ConversationInput(system=system, question=SAMPLE_QUESTION).build_prompt([]).chars

    key = f"prompt-chars:{project.pk}:{writing}"
    found: int | None = cache.get_or_set(key, measure, CACHE_SECONDS)
    return measure() if found is None else found
