"""A decision tree in a package outside `agents` drives a run, with a state of its own."""

import json
from pathlib import Path

import pytest

from agents.core.config import AgentConfig
from agents.core.decisions.protocol import TREES, DecisionTree
from docs.examples.two_sources.decision_trees import TwoSourcesTree
from tests.support.commands import Site
from tests.support.runs import drive, served
from tests.support.script import Script, call, say
from tests.support.tools import FakeTools, returns


async def test_an_answer_is_sent_back_until_two_sources_were_looked_up() -> None:
    config = AgentConfig(max_iterations=10)
    script = Script(
        [call("look", page=1), say("It is so."), call("look", page=2), say("Checked: it is so.")]
    )
    async with served(script) as bench:
        tools = FakeTools({"look": returns("something")})
        ran = await drive(bench.model(), tools, config=config, tree=TwoSourcesTree(config))
    assert ran.reason == "completed"
    assert ran.answer == "It is so.\n\nChecked: it is so."
    (notice,) = ran.notices("notification", "two_sources")
    assert notice.metadata["current_value"] == 1
    third = bench.endpoint.requests[2].body["messages"]
    assert third[-1]["role"] == "user"
    assert "one more source" in third[-1]["content"]


async def test_such_a_tree_is_held_to_the_limits_all_the_same() -> None:
    config = AgentConfig(max_iterations=4)
    async with served(Script(then=say("It is so."))) as bench:
        ran = await drive(
            bench.model(),
            FakeTools({"look": returns("x")}),
            tree=TwoSourcesTree(config),
            config=config,
        )
    assert ran.reason == "max_iterations"
    assert len(bench.endpoint.requests) == 4


def test_its_package_is_an_installed_app_and_that_is_enough_to_register_it() -> None:
    assert isinstance(TwoSourcesTree(AgentConfig()), DecisionTree)
    assert TREES.get("two_sources") is TwoSourcesTree


PACKAGE = '''
"""Keep answers short: a package that knows nothing of Oracle but names documented long ago."""
from agents.core.decision import decision_tree
from agents.core.trees.default import DefaultTree


@decision_tree("patient")
class PatientTree(DefaultTree):
    def should_continue(self, state):
        return (False, "no_progress") if state.turn >= 1 else (True, "")
'''


@pytest.mark.ci
def test_a_tree_of_a_package_outside_is_chosen_by_its_name(site: Site, tmp_path: Path) -> None:
    """A folder that is not in this project, on the path, named in the environment: no more."""
    package = tmp_path / "elsewhere" / "patience"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "decision_trees.py").write_text(PACKAGE)
    site.environment.update(PYTHONPATH=str(package.parent), ORACLE_APPS="patience")
    asked = site.manage("ask", "--json", "--tree", "patient", "Who leads the project?")
    assert asked.returncode == 0, asked.stderr
    chunks = [json.loads(line) for line in asked.stdout.splitlines()]
    trees = {chunk["tree"] for chunk in chunks if chunk["type"] == "decision"}
    assert trees == {"patient"}
    assert chunks[-1]["termination_reason"] == "no_progress"
    assert chunks[-1]["turns_used"] == 2
