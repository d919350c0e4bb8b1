"""The rules that come with Oracle: each fires over a run that it is meant for, not over others."""

from collections.abc import Sequence
from pathlib import Path

from agents.core.chunks import OracleStreamChunk, SourceRef
from agents.core.config import AgentConfig
from agents.core.control.facts import RunBackground
from agents.core.messages import ToolOutcome
from agents.core.rules import shipped
from agents.core.rules.dry_run import RuleTrial, try_rule
from agents.core.rules.rule import Rule
from tests.agents.core.factories import limits, play
from tests.support.script import call, say
from tests.support.scripted_model import ModelStep, ScriptedModel
from tests.support.tools import FakeTools, Tool, fails, returns, slow
from tests.support.virtual import run_virtual

RULES: dict[str, Rule] = {rule.id: rule for rule in shipped.load_shipped_rules()}
TOOLS: dict[str, Tool] = {
    "look": lambda **arguments: f"page {arguments.get('page')} " * 40,
    "fail": fails("broken"),
    "crawl": slow(25),
    "vault_read": lambda **arguments: f"The text of {arguments['path']}.",
    "vault_search": lambda **arguments: ToolOutcome(
        ok=True, content="B.md", sources=(SourceRef("B.md", "vault", score=1.0),)
    ),
    "vault_write": returns("Replaced.", writes=True),
}


def record(
    steps: Sequence[ModelStep], config: AgentConfig | None = None
) -> list[OracleStreamChunk]:
    """A run of these steps through the loop."""

    async def go() -> list[OracleStreamChunk]:
        with FakeTools(TOOLS) as tools:
            return await play(ScriptedModel(steps, then=say("That is all.")), tools, config=config)

    return run_virtual(go(), thread_grace=0.002)


def attempt(
    name: str, steps: Sequence[ModelStep], config: AgentConfig | None = None, notes: int = 3
) -> RuleTrial:
    config = config or AgentConfig()
    background = RunBackground(
        config=config, note_count=notes, writes=lambda tool: tool == "vault_write"
    )
    return try_rule(RULES[name], record(steps, config), background, run_id="run")


def tell(trial: RuleTrial) -> list[tuple[int, str]]:
    return [(firing.turn, str(effect)) for firing in trial.firings for effect in firing.effects]


def test_every_file_is_a_rule_under_its_own_name() -> None:
    folder = Path(shipped.__file__).parent
    assert {path.stem for path in folder.glob("*.toml")} == set(RULES) == set(shipped.RULE_IDS)
    off = [name for name, rule in RULES.items() if rule.mode != "on"]
    assert off == ["answer-needs-source", "many-writes"]


def test_three_failures_of_one_tool_suggest_another_way() -> None:
    steps = [call("fail", page=1), call("look", page=1), call("fail", page=2), call("look", page=2)]
    ((turn, words),) = tell(attempt("same-tool-fails", [*steps, call("fail", page=3)]))
    assert (turn, words.startswith("notify: `fail` has failed three times.")) == (5, True)
    assert tell(attempt("same-tool-fails", steps)) == []


def test_a_note_is_to_be_read_before_it_is_replaced() -> None:
    read, write = call("vault_read", path="A.md"), call("vault_write", path="A.md", body="x")
    assert tell(attempt("read-before-write", [read, write])) == []
    find, other = call("vault_search", query="B"), call("vault_write", path="B.md", body="x")
    ((turn, words),) = tell(attempt("read-before-write", [find, other]))
    assert (turn, words.startswith("notify: A note was written")) == (2, True)
    new = call("vault_write", path="New.md", body="x")
    assert tell(attempt("read-before-write", [find, new])) == []


def test_half_way_through_its_tokens_a_run_is_to_write_down_what_it_found() -> None:
    steps = [call("look", page=n) for n in range(14)]
    config = limits(token_budget=12_000)
    ((turn, words),) = tell(attempt("half-way-summary", steps, config))
    assert turn >= 8
    assert words.startswith("notify: Half of the tokens are used.")
    assert tell(attempt("half-way-summary", steps[:4], config)) == []


def test_a_slow_tool_is_told_once() -> None:
    steps = [call("crawl", page=1), call("look", page=1), call("crawl", page=2)]
    assert tell(attempt("slow-tool", steps)) == [(1, "notify: `crawl` took 25,000 ms.")]


def test_work_that_a_limit_cut_is_remembered() -> None:
    steps = [call("look", page=n) for n in range(9)]
    ((_, words),) = tell(attempt("unfinished-work", steps, limits(max_iterations=3)))
    assert "ended by a limit (max_iterations) after 3 iterations" in words
    assert tell(attempt("unfinished-work", steps[:1])) == []


def test_an_answer_without_a_look_is_sent_back_where_there_are_notes() -> None:
    ((turn, words),) = tell(attempt("answer-needs-source", [say("Of course.")]))
    assert (turn, words.startswith("ask_again: You answered without")) == (1, True)
    assert tell(attempt("answer-needs-source", [say("Of course.")], notes=0)) == []
    assert tell(attempt("answer-needs-source", [call("look", page=1), say("So.")])) == []
