"""What a run may use depends on who asks, and where."""

from uuid import uuid4

import httpx
import pytest
from django.contrib.auth.models import User

from agents.core.config import AgentConfig
from agents.core.ports import ToolRunner
from agents.models import ModelSettings, SiteSettings
from agents.projects.services import archive_project
from agents.runtime import RunRequest
from agents.runtime.factory import SiteRunFactory
from agents.settings_service import update_settings
from agents.tools.catalogue import TOOLS
from agents.tools.delegating_runner import DelegatingRunner
from agents.tools.executor import ToolExecutor
from tests.agents.projects.people import Team
from tests.support.code import add_gauge

pytestmark = pytest.mark.django_db
WRITING = {name for name, tool in TOOLS if tool.writes}


def offered(team: Team, name: str) -> set[str]:
    """The tools of somebody's run, with a language model of their own."""
    user = getattr(team, name)
    update_settings(ModelSettings, user, {"provider": "ollama", "oracle_model": "m"})
    return {schema["function"]["name"] for schema in build_tools(team, user).schemas()}


def build_tools(team: Team, user: User) -> ToolRunner:
    http = httpx.AsyncClient()
    factory = SiteRunFactory(http, http)
    request = RunRequest(user=user, project=team.project, question="?", config=AgentConfig())
    return factory.tools(request, factory.model(request), uuid4())


def test_writing_tools_are_withheld_from_readers_and_from_nobody_else() -> None:
    team = Team()
    assert WRITING
    assert offered(team, "ada") >= WRITING
    assert offered(team, "bob") >= WRITING
    assert not offered(team, "rae") & WRITING
    assert offered(team, "rae") == offered(team, "bob") - WRITING


@pytest.mark.parametrize("wanted", [True, False])
def test_long_results_are_delegated_unless_somebody_switched_it_off(wanted: bool) -> None:
    team = Team()
    values = {"provider": "ollama", "oracle_model": "m", "delegate_long_results": wanted}
    update_settings(ModelSettings, team.ada, values)
    tools = build_tools(team, team.ada)
    assert isinstance(tools, DelegatingRunner) is wanted
    if isinstance(tools, DelegatingRunner):
        assert isinstance(tools.librarian.tools, ToolExecutor), "never inside a librarian"


def test_an_archived_project_is_written_by_nobody() -> None:
    team = Team()
    archive_project(team.project, by=team.ada)
    assert not offered(team, "ada") & WRITING


def test_pages_of_the_web_are_offered_only_when_the_administrator_allows_hosts() -> None:
    team = Team()
    assert "web_fetch" not in offered(team, "ada")
    SiteSettings.objects.create(pk=1, web_hosts="docs.example.org")
    assert "web_fetch" in offered(team, "ada")
    assert "web_fetch" in offered(team, "rae")


def test_a_list_of_hosts_that_cannot_be_read_switches_the_web_off_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    team = Team()
    without = offered(team, "ada")
    SiteSettings.objects.create(pk=1, web_hosts="docs.example.org\nlocalhost")
    assert offered(team, "ada") == without
    assert "web_fetch is off: 'localhost'" in caplog.text


def test_tools_for_code_are_offered_where_there_is_code() -> None:
    team = Team()
    for_code = {"search_code", "find_definition", "find_references", "get_repo_map"}
    assert not offered(team, "rae") & for_code
    add_gauge(team.project)
    assert offered(team, "rae") >= for_code
