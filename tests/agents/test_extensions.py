"""Packages outside `agents` extend Oracle, each point in the module of its name."""

import asyncio
import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from django.apps import apps

from agents.core.config import AgentConfig
from agents.core.decisions import build_tree
from agents.core.registry import RegistrationError
from agents.extensions import EXTENSION_POINTS, find_modules, import_modules
from agents.llm.decoding.text_calls.base import Parse, TextCall, TextCursor
from agents.llm.decoding.text_calls.registry import text_call_family
from agents.tools.definition import ToolFailed
from agents.tools.executor import ToolExecutor
from agents.tools.registry import TOOLS
from docs.examples.two_sources.tools import check_claim
from tests.support.commands import Site
from tests.support.runs import drive, served
from tests.support.script import Script, call, say

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
EXAMPLE = "docs.examples.two_sources"


# -- the list -------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", EXTENSION_POINTS, ids=lambda point: str(point.name))
def test_every_extension_point_is_documented(point: Any) -> None:
    (section,) = re.findall(rf"^## `{point.name}`\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    assert point.about in " ".join(section.split())
    assert "```python" in section


def test_the_template_of_a_card_is_documented() -> None:
    assert "## Card templates" in PAGE.read_text()
    assert "chat/tools/<name>.html" in PAGE.read_text()


@pytest.mark.parametrize("point", EXTENSION_POINTS, ids=lambda point: str(point.name))
def test_what_comes_with_oracle_is_registered_and_nothing_can_be_added_later(point: Any) -> None:
    assert point.registry.names()
    with pytest.raises(RegistrationError, match="too late"):
        point.registry.register("latecomer", object())


# -- finding --------------------------------------------------------------------------------------


def test_only_apps_that_have_the_module_are_searched() -> None:
    configs = [apps.get_app_config("chat"), apps.get_app_config("two_sources")]
    assert find_modules(configs, "decision_trees") == [f"{EXAMPLE}.decision_trees"]
    assert find_modules(configs, "reasons") == []


def test_one_refused_module_does_not_hide_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("refused_first", "refused_second"):
        (tmp_path / f"{name}.py").write_text(
            "from agents.core.registry import RegistrationError\n"
            f"raise RegistrationError('{name}')\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    errors = import_modules(["refused_first", "refused_second"])
    assert [str(error) for error in errors] == ["refused_first", "refused_second"]


def test_other_errors_of_a_module_are_not_swallowed() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        import_modules(["no_such_package"])


@pytest.mark.parametrize(
    ("opener", "problem"),
    [
        ("[call]", "begins with '<'"),
        ("<", "at least one more character"),
        ("<tool_call>now", "'hermes' with '<tool_call>': none may be the beginning"),
        ("<tool_", "none may be the beginning of another"),
    ],
)
def test_a_family_whose_opener_cannot_be_told_apart_is_refused(opener: str, problem: str) -> None:
    class Odd:
        openers = (opener,)

        def parse(self, cursor: TextCursor) -> Parse[list[TextCall]]:
            yield
            return []

    with pytest.raises(RegistrationError, match=re.escape(problem)):
        text_call_family("odd")(Odd)


# -- packages -------------------------------------------------------------------------------------


async def test_the_example_package_drives_a_run_with_its_tree_and_its_tool() -> None:
    assert apps.is_installed(EXAMPLE)
    config = AgentConfig()
    script = Script(
        [
            call("check_claim", claim="It is so.", sources=["a.md"]),
            say("It is so."),
            call("check_claim", claim="It is so.", sources=["a.md", "b.md"]),
            say("It is so, by two sources."),
        ]
    )
    async with served(script) as bench:
        tools = ToolExecutor([TOOLS.get("check_claim")], [])
        tree = build_tree("two_sources", config)
        ran = await drive(bench.model(), tools, config=config, tree=tree)
    assert [result.tool_result for result in ran.record.results.values()] == [
        "Only a.md supports it: look for another source, or say that it is one.",
        "Supported by 2 sources.",
    ]
    assert ran.reason == "completed"


async def test_the_tool_of_the_example_says_what_is_missing() -> None:
    with pytest.raises(ToolFailed, match="No source is named"):
        await check_claim("It is so.", [" "])


PACKAGE = {
    "reasons": """
        from agents.core.reasons import Outcome, register_reason

        register_reason(
            "echoed", Outcome.LIMITED, "Echoed", "info", "There was an echo.", "Ask elsewhere."
        )
    """,
    "decision_trees": """
        from agents.core.decisions.protocol import decision_tree
        from agents.core.decisions.trees.default import DefaultDecisionTree

        @decision_tree("once")
        class OnceTree(DefaultDecisionTree):
            def should_continue(self, state):
                return (False, "echoed") if state.turn else (True, "")
    """,
    "tools": """
        from agents.tools.registry import tool

        @tool()
        async def echo(word: str) -> str:
            '''Say it again.'''
            return f"{word} {word}"
    """,
    "text_calls": """
        from agents.llm.decoding.text_calls import TextCall, text_call_family

        @text_call_family("echo")
        class Echo:
            openers = ("<echo>",)

            def parse(self, cursor):
                yield from cursor.expect("<echo>")
                word = yield from cursor.read_until("</echo>")
                return [TextCall("echo", f'{{"word": "{word}"}}')]
    """,
    "observers": """
        import sys

        from agents.core.control.observers import observer

        @observer("echo")
        def tell(event, run):
            print(f"observed {event.name} of {run.user_id}", file=sys.stderr)
    """,
    "behaviour_words": """
        from agents.core.behaviours.words import condition

        @condition("is-loud?")
        def is_loud(run):
            return True
    """,
    "subscribers": """
        from agents.core.notify import register_subscriber

        register_subscriber('''
            [subscriber]
            id = "echoes"
            name = "Echoes"
            [events]
            types = ["tool.call.success"]
            [output]
            message = "{tool} was heard."
        ''')
    """,
    "rules": """
        from agents.core.rules import register_rule

        register_rule('''
            [rule]
            id = "one-echo"
            trigger = "on_tool_complete"
            [[action]]
            type = "log"
            message = "There was an echo."
        ''')
    """,
    "behaviours": """
        from agents.core.behaviours.packaged import register_behaviour

        register_behaviour('''
            (tree "twice"
              :description "Answers twice."
              (sequence (turn :interim "First") (turn)))
        ''')
    """,
}


@pytest.mark.ci
async def test_a_package_from_elsewhere_may_extend_every_point(site: Site, tmp_path: Path) -> None:
    package = tmp_path / "elsewhere" / "echoes"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name, source in PACKAGE.items():
        (package / f"{name}.py").write_text(dedent(source))
    assert {*PACKAGE} == {point.name for point in EXTENSION_POINTS}
    site.environment.update(PYTHONPATH=str(package.parent), ORACLE_APPS="echoes")
    async with served(Script([say("<echo>ho</echo>")])) as bench:
        site.environment["ORACLE_LLM_BASE_URL"] = bench.endpoint.base_url
        asked = await asyncio.to_thread(site.manage, "ask", "--json", "--tree", "once", "Why?")
    assert asked.returncode == 0, asked.stderr
    chunks = [json.loads(line) for line in asked.stdout.splitlines()]
    results = [chunk["tool_result"] for chunk in chunks if chunk["type"] == "tool_result"]
    assert results == ["ho ho"]
    told = [chunk["system_message"] for chunk in chunks if chunk["type"] == "system"]
    assert "`echo` was heard." in told
    assert chunks[-1]["termination_reason"] == "echoed"
    assert chunks[-1]["outcome"] == "limited"
    observed = re.findall(r"^observed (\S+) of \d+$", asked.stderr, re.M)
    assert observed[0] == "query.start"
    assert observed[-1] == "session.end"
    refused = await asyncio.to_thread(site.manage, "ask", "--tree", "thrice", "Why?")
    assert "twice" in refused.stderr
