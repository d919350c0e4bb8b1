"""A mistake in an extension is told at start-up, in one line, without a traceback."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, Protocol

import pytest
from django.core.checks import ERROR, run_checks
from pytest_django import Settings

from agents.checks import check_control_files, find_fault
from agents.core.config import AgentConfig
from agents.core.decisions.protocol import TREES
from agents.core.registry import RegistrationError

ROOT = Path(__file__).resolve().parents[2]


class CheckWithApp(Protocol):
    def __call__(
        self, source: str, module: str = "decision_trees", **environment: str
    ) -> subprocess.CompletedProcess[str]: ...


class Conforming:
    def __init__(self, config: AgentConfig) -> None:
        self.config = config

    def should_continue(self, state: object) -> tuple[bool, str]:
        return True, ""

    def on_turn_start(self, state: object) -> object:
        return state

    def on_tool_result(self, state: object, result: object) -> object:
        return state

    def get_config(self) -> object:
        return self.config


class WithoutToolResults:
    def __init__(self, config: AgentConfig) -> None:
        self.config = config

    should_continue = Conforming.should_continue
    on_turn_start = Conforming.on_turn_start
    get_config = Conforming.get_config


class WithoutConfigArgument(Conforming):
    def __init__(self) -> None:
        super().__init__(AgentConfig())


class ConfigAsDict(Conforming):
    def get_config(self) -> object:
        return {"max_iterations": 3}


class ConfigRaises(Conforming):
    def get_config(self) -> object:
        raise KeyError("limits")


@pytest.fixture
def check_with_app(tmp_path: Path) -> CheckWithApp:
    """Runs `manage.py check` in a project that also installs an app with this module."""
    app = tmp_path / "gadget"
    app.mkdir()
    (app / "__init__.py").touch()
    (tmp_path / "gadget_settings.py").write_text(
        "from oracle_site.settings import *\nINSTALLED_APPS += ['gadget']\n"
    )

    def check(
        source: str, module: str = "decision_trees", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        (app / f"{module}.py").write_text(dedent(source))
        return subprocess.run(
            [sys.executable, "-m", "django", "check"],
            cwd=ROOT,
            env={
                **os.environ,
                **environment,
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
                "DJANGO_SETTINGS_MODULE": "gadget_settings",
                "ORACLE_DATA_DIR": str(tmp_path / "data"),
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    return check


def test_the_shipped_trees_pass() -> None:
    assert "default" in TREES.names()
    assert run_checks(tags=["agents"]) == []


def test_trees_cannot_register_after_start_up() -> None:
    tree: type[Any] = Conforming
    with pytest.raises(RegistrationError, match="too late"):
        TREES.register("latecomer", tree)


def test_an_unknown_default_tree_is_reported_with_the_known_names(
    settings: Settings,
) -> None:
    settings.ORACLE_DEFAULT_TREE = "defualt"
    [error] = run_checks(tags=["agents"])
    assert error.id == "agents.E003"
    assert "'defualt'" in error.msg
    assert "default" in error.msg.partition("Known:")[2]
    assert error.hint is not None


def test_a_conforming_class_has_no_fault() -> None:
    assert find_fault(Conforming) == ""


@pytest.mark.parametrize(
    ("tree", "fault"),
    [
        (WithoutToolResults, "lacks on_tool_result"),
        (WithoutConfigArgument, "cannot be built as cls(AgentConfig()): TypeError"),
        (ConfigAsDict, "returns dict from get_config(), not AgentConfig"),
        (ConfigRaises, "raises in get_config(): KeyError: 'limits'"),
    ],
)
def test_a_class_that_does_not_conform_is_told_what_is_wrong(tree: type[Any], fault: str) -> None:
    assert find_fault(tree).startswith(fault)


def test_every_missing_method_is_named_at_once() -> None:
    class Empty:
        pass

    assert find_fault(Empty) == ("lacks should_continue, on_turn_start, on_tool_result, get_config")


def test_a_card_template_that_cannot_be_used_is_reported(
    tmp_path: Path, settings: Settings
) -> None:
    card = tmp_path / "chat" / "tools" / "calculate.html"
    card.parent.mkdir(parents=True)
    card.write_text("{% block gist %}")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path]}]
    error = next(error for error in run_checks(tags=["agents"]) if error.id == "agents.E005")
    assert error.msg.startswith("The card of the tool 'calculate' cannot be used (chat/tools/calc")


@pytest.mark.ci
def test_a_tree_of_another_package_is_found_at_start_up(check_with_app: CheckWithApp) -> None:
    done = check_with_app(
        """
        from agents.core.decisions.protocol import decision_tree
        from agents.core.decisions.trees.default import DefaultDecisionTree

        @decision_tree("gadget")
        class GadgetTree(DefaultDecisionTree):
            pass
        """,
        ORACLE_DEFAULT_TREE="gadget",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.ci
def test_bad_trees_are_named_with_what_is_wrong_and_without_a_traceback(
    check_with_app: CheckWithApp,
) -> None:
    """One lacks methods; the next one has a name that is taken."""
    done = check_with_app(
        """
        from agents.core.decisions.protocol import decision_tree
        from agents.core.decisions.trees.default import DefaultDecisionTree

        @decision_tree("gadget")
        class GadgetTree:
            def __init__(self, config):
                self.config = config

            def get_config(self):
                return self.config

        @decision_tree("default")
        class SecondTree(DefaultDecisionTree):
            pass
        """
    )
    assert done.returncode == 1
    assert "(agents.E001)" in done.stderr
    assert "gadget.decision_trees.SecondTree" in done.stderr
    assert "(agents.E002)" in done.stderr
    assert "gadget.decision_trees.GadgetTree" in done.stderr
    assert "lacks should_continue, on_turn_start, on_tool_result" in done.stderr


def test_a_rule_of_a_package_that_withholds_no_tool_is_reported(
    check_with_app: CheckWithApp,
) -> None:
    done = check_with_app(
        """
        from agents.core.rules import register_rule

        register_rule('''
        [rule]
        id = "no-search"
        trigger = "on_turn_start"
        [[action]]
        type = "withhold"
        tool = "vault_serch"
        ''')
        """,
        "rules",
    )
    assert done.returncode == 1
    assert "(agents.E001)" in done.stderr
    assert "rule 'no-search' cannot be read: 7:8: there is no tool 'vault_serch'" in done.stderr
    assert "HINT:" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_file_of_the_operators_is_told_with_its_place(
    tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "stop.toml").write_text('[rule]\nid = "stop"\ntriger = "on_turn_end"\n')
    (tmp_path / "subscribers").mkdir()
    (tmp_path / "subscribers" / "ends.toml").write_text("[subscriber\n")
    found = check_control_files(None)
    told = [message.msg for message in found]
    assert any(text.startswith("rules/stop.toml:3:1: ") for text in told)
    assert all("has read a good version keeps that" in str(message.hint) for message in found)
    assert any(text.startswith("subscribers/ends.toml:1:") for text in told)
    assert not any(message.is_serious(ERROR) for message in found), "the site starts all the same"
