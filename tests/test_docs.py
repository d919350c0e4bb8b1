"""The documentation names everything it must, and its links lead somewhere."""

import re
from pathlib import Path
from typing import get_args

import pytest

from agents.behaviour_service import MAX_TEXT_LENGTH
from agents.core.behaviours import sexp
from agents.core.behaviours.blackboard import KIND_NAMES, MAX_BOARD_BYTES, MAX_VALUE_BYTES
from agents.core.behaviours.leaves import MAX_NOTICES
from agents.core.behaviours.own_calls import MAX_BATCHES
from agents.core.behaviours.reader import MAX_KEYS, TREE_KEYWORDS
from agents.core.behaviours.shipped import BEHAVIOUR_NAMES, load_shipped_texts
from agents.core.behaviours.signatures import MAX_NODES, NODE_KINDS
from agents.core.behaviours.values import FACTS, READS
from agents.core.behaviours.words import WORDS
from agents.core.chunks import OracleStreamChunk
from agents.core.config import LIMITS
from agents.core.control.events import EVENT_TYPES
from agents.core.control.facts import TOOL
from agents.core.control.functions import FUNCTIONS
from agents.core.control.kinds import RecordKind
from agents.core.control.language import Language
from agents.core.control.toml import TomlTable
from agents.core.decisions.protocol import TREES
from agents.core.notify.shipped import LOOP, SHIPPED
from agents.core.notify.subscriber import SCHEMA as SUBSCRIBER_SCHEMA
from agents.core.notify.subscriber import InjectionPoint, read_subscriber
from agents.core.reasons import REASONS
from agents.core.rules import engine, reader, steps
from agents.core.rules.in_force import MAX_FAILURES, MAX_FIRINGS, MAX_RULES
from agents.core.rules.reader import ACTION_KEYS, MAX_RULE_LENGTH, RULE_KEYS
from agents.core.rules.rule import MAX_VALUE_LENGTH
from agents.core.rules.shipped import load_shipped_rules
from agents.core.rules.vocabulary import HOOKS, build_language
from agents.llm import errors
from agents.llm.providers import OWN_URL, PROVIDERS
from agents.rule_trials import MAX_TRIAL_STEPS
from agents.runtime.site_files import MAX_FILES
from agents.stored_texts import MAX_STORED
from agents.tools.reference import render_reference

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
_COMMON = {"type", "traits", "seq", "at", "parent", "goes_on"}
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])


def test_every_limit_is_documented_with_its_default_and_bounds() -> None:
    page = (DOCS / "limits.md").read_text()
    for limit in LIMITS.values():
        row = f"| `{limit.name}` | {limit.default:,} | {limit.minimum:,} | {limit.maximum:,} |"
        assert row in page


def test_every_reason_is_documented_with_its_outcome_in_order_of_precedence() -> None:
    page = (DOCS / "limits.md").read_text()
    documented = re.findall(r"^\| `(\w+)` \| ([a-z]+) \|", page, re.MULTILINE)
    assert documented == [(code, reason.outcome.value) for code, reason in REASONS]


def test_every_provider_that_can_be_chosen_is_documented() -> None:
    page = (DOCS / "models.md").read_text()
    named = [one.label for one in PROVIDERS.values() if one.name != OWN_URL]
    assert [label for label in named if label not in page] == []


def test_every_chunk_type_is_documented_with_its_fields_and_traits() -> None:
    page = (DOCS / "chunks.md").read_text()
    for kind in OracleStreamChunk.__args__:
        (row,) = re.findall(rf"^\| `{kind.type}` \|.*$", page, re.MULTILINE)
        for name in set(kind.__dataclass_fields__) - _COMMON:
            assert f"`{name}" in row, f"{kind.type} lacks {name}"
        words = (
            ", ".join(f"`{field}`" for field in (*kind.traits.words, *kind.traits.optional_words))
            or "none"
        )
        assert row.endswith(f"| {words} | {', '.join(kind.traits.read_by) or 'nobody'} |")


def test_every_event_is_documented_with_what_it_tells() -> None:
    page = (DOCS / "events.md").read_text()
    row = r"^\| `([a-z_.]+)` \| (\w+) \| (\w+) \| [^|]+ \| ([^|]*) \| ([^|]*)\|$"
    rows = re.findall(row, page, re.MULTILINE)
    assert [found[:4] for found in rows] == [
        (name, about.severity, about.source, ", ".join(f"`{field}`" for field in about.fields))
        for name, about in EVENT_TYPES.items()
    ]
    named = {found[4].strip(" `"): found[0] for found in rows if found[4].strip()}
    assert named == {name.upper().replace(".", "_"): name for name in named.values()}
    assert {"QUERY_START", "TOOL_CALL_SUCCESS", "SESSION_END"} <= set(named)


def test_every_field_that_may_hold_the_words_of_others_is_documented() -> None:
    page = (DOCS / "events.md").read_text()
    listed = page.split("Oracle's own: ")[1].split(" may hold")[0]
    fields = [item for about in EVENT_TYPES.values() for item in about.fields.items()]
    foreign = dict.fromkeys(name for name, field in fields if not field.trusted)
    assert re.findall(r"`(\w+)`", listed) == list(foreign)


POINTS = get_args(InjectionPoint)


def test_every_shipped_subscriber_is_documented() -> None:
    page = (DOCS / "notifications.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)`( \(core\))? \| (.*) \| `(\w+)` \|", page, re.MULTILINE)
    assert rows == [
        (
            one.id,
            " (core)" if one.core else "",
            ", ".join(f"`{name}`" for name in sorted(one.types)),
            one.at,
        )
        for one in (*LOOP.values(), *SHIPPED)
    ]


def test_the_example_of_a_subscriber_is_read_and_has_an_id_of_its_own() -> None:
    example = (DOCS / "notifications.md").read_text().split("```toml\n")[1].split("```")[0]
    assert read_subscriber(example).id not in {one.id for one in (*SHIPPED, *LOOP.values())}


def test_every_key_of_a_subscriber_is_documented() -> None:
    example = (DOCS / "notifications.md").read_text().split("```toml\n")[1].split("```")[0]
    tables = {
        name: table
        for name, table in SUBSCRIBER_SCHEMA.entries.items()
        if isinstance(table, TomlTable) and not table.is_list
    }
    kept_by_oracle = {"core", "system_type"}
    for name, table in tables.items():
        lines = example.split(f"[{name}]\n")[1].split("\n\n")[0]
        written = set(re.findall(r"^(\w+) =", lines, re.MULTILINE))
        assert written == set(table.entries) - kept_by_oracle
    assert all(f"`{point}`" in (DOCS / "notifications.md").read_text() for point in POINTS)


def read_rows(text: str, columns: int) -> list[tuple[str, ...]]:
    """Return the rows of a page's tables that have this many columns and begin with a name."""
    row = r"^\| (`[^|]+?) \|" + r" ([^|]*?) \|" * (columns - 1) + "$"
    return re.findall(row, text, re.MULTILINE)


def test_every_hook_key_and_action_of_rules_is_documented() -> None:
    page = (DOCS / "rules.md").read_text()
    hooks, keys, actions = (page.split(f"## {title}")[1] for title in ("Hooks", "Keys", "Actions"))
    rows = read_rows(hooks.split("## ")[0], 2)
    assert rows == [
        (f"`{hook}`", ", ".join(f"`{name}`" for name in events)) for hook, events in HOOKS.items()
    ]
    assert [name for name, _ in read_rows(keys.split("## ")[0], 2)] == [
        f"`{name}`" for name in RULE_KEYS
    ]
    assert [found[:2] for found in read_rows(actions.split("## ")[0], 3)] == [
        (f"`{kind}`", ", ".join(f"`{name}`" for name in names))
        for kind, names in ACTION_KEYS.items()
    ]


def test_every_shipped_rule_is_documented_with_its_hook() -> None:
    page = (DOCS / "rules.md").read_text().split("## Shipped rules")[1].split("## ")[0]
    assert [(row[0], row[1], row[2].startswith("off")) for row in read_rows(page, 3)] == [
        (f"`{rule.id}`", f"`{rule.trigger}`", rule.mode == "off") for rule in load_shipped_rules()
    ]


def test_every_name_that_rules_know_is_documented_with_its_kind() -> None:
    page = (DOCS / "rules.md").read_text().split("## Names in expressions")[1]
    known = []
    for name, kind in build_language(HOOKS["on_tool_complete"]).names.items():
        fields = kind.fields if isinstance(kind, RecordKind) else {"": kind}
        known += [
            (
                f"`{name}.{field}`".replace(".`", "`"),
                "a map" if isinstance(of, RecordKind) else of.name,
            )
            for field, of in fields.items()
        ]
    known += [(f"`{field}`", kind.name) for field, kind in TOOL.fields.items()]
    assert [row[:2] for row in read_rows(page, 3)] == known


def test_every_function_of_expressions_is_documented() -> None:
    page = (DOCS / "rules.md").read_text().split("| function |")[1].split("## ")[0]
    assert re.findall(r"`(\w+)\(", page) == list(FUNCTIONS)


def test_the_bounds_of_rules_are_documented() -> None:
    page = (DOCS / "rules.md").read_text().split("## Bounds")[1]
    bounds = [
        MAX_RULE_LENGTH,
        reader.MAX_ACTIONS,
        Language().max_length,
        MAX_RULES,
        MAX_FIRINGS,
        engine.MAX_EFFECTS,
        *set(engine.MAX_SHARES.values()),
        engine.MAX_CHAIN,
        steps.MAX_RULE_STEPS,
        steps.MAX_EVENT_STEPS,
        steps.MAX_RUN_STEPS,
        MAX_TRIAL_STEPS,
        engine.MAX_STATE_KEYS,
        MAX_VALUE_LENGTH,
        MAX_FAILURES,
    ]
    assert re.findall(r"\d[\d,]*", page) == [f"{bound:,}" for bound in bounds]


def test_every_node_keyword_and_word_of_behaviours_is_documented() -> None:
    page = (DOCS / "behaviours.md").read_text()
    nodes, keywords, words, shipped = (
        page.split(f"\n## {title}\n")[1].split("\n## ")[0]
        for title in ("Nodes", "Keywords", "Words", "Shipped behaviours")
    )
    assert [(row[0], row[2]) for row in read_rows(nodes, 3)] == [
        (f"`{name}`", kind.about) for name, kind in NODE_KINDS.items()
    ]
    assert read_rows(keywords, 3) == [
        (f"`{name}`", f"`:{option}`", about.about)
        for name, kind in NODE_KINDS.items()
        for option, about in kind.options.items()
    ]
    assert read_rows(words, 4) == [
        (
            f"`{word.name}`",
            word.type,
            ", ".join(f"`:{one.replace('_', '-')}`" for one in word.parameters),
            word.about,
        )
        for _, word in WORDS
    ]
    rows = read_rows(shipped, 3)
    assert [name for name, _, _ in rows] == [f"`{name}`" for name in BEHAVIOUR_NAMES]
    assert all(f"\n- {name} " in shipped for name, _, _ in rows)


def test_every_keyword_and_value_of_a_behaviours_file_is_documented() -> None:
    page = (DOCS / "behaviours.md").read_text()
    written = page.split("## Writing one")[1].split("### The blackboard")[0]
    assert [name for name, _ in read_rows(written, 2)] == [f"`:{name}`" for name in TREE_KEYWORDS]
    values = page.split("### Values")[1].split("### ")[0]
    assert [read for read in READS if f"`({read} " in values] == list(READS)
    assert [fact for fact in FACTS if f"`{fact}`" in values] == list(FACTS)
    board = page.split("### The blackboard")[1].split("### ")[0]
    assert [kind for kind in KIND_NAMES if f"`{kind}`" in board] == list(KIND_NAMES)


def test_the_example_of_a_behaviour_is_the_shipped_one() -> None:
    example = (DOCS / "behaviours.md").read_text().split("```lisp\n")[1].split("```")[0]
    assert example == load_shipped_texts()["plan-then-do"]


def test_the_bounds_of_behaviours_are_documented() -> None:
    page = (DOCS / "behaviours.md").read_text().split("## Bounds")[1]
    bounds = [
        MAX_TEXT_LENGTH,
        MAX_STORED,
        MAX_FILES,
        sexp.MAX_LENGTH,
        sexp.MAX_DEPTH,
        MAX_NODES,
        MAX_KEYS,
        sexp.MAX_PROBLEMS,
        MAX_VALUE_BYTES,
        MAX_BOARD_BYTES,
        MAX_BATCHES,
        MAX_NOTICES,
    ]
    assert re.findall(r"\d[\d,]*\d", page) == [f"{bound:,}" for bound in bounds]


def test_every_cause_of_an_endpoints_failure_is_documented() -> None:
    page = (DOCS / "models.md").read_text()
    codes = {kind.code for kind in vars(errors).values() if _is_error(kind)}
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == codes - {"provider_error"}


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, errors.EndpointError)


def test_every_shipped_tree_is_documented() -> None:
    page = (DOCS / "decision-trees.md").read_text()
    for name in TREES.names():
        assert f"`{name}`" in page or f"/{name}`" in page


def test_the_reference_of_the_tools_is_what_make_docs_writes() -> None:
    assert (DOCS / "tools.md").read_text() == render_reference(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_every_requirement_names_tests_that_exist() -> None:
    page = (DOCS / "conformance.md").read_text().split("## Where we differ")[0]
    rows = re.findall(r"^\| (?:FR|SC|US|E|E2E)[-\d.]+ \|.*$", page, re.MULTILINE)
    assert len(rows) == 26 + 8 + 16 + 6 + 10
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
        assert named, f"no test: {row}"
        for path, name in named:
            assert re.search(
                rf"^(?:async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE
            ), f"{path}::{name} is gone"


def test_every_test_that_conformance_names_exists() -> None:
    page = (DOCS / "conformance.md").read_text()
    proven = page.split("## Where we differ")[0]
    rows = re.findall(r"^\| 004, .*$", proven, re.MULTILINE)
    assert [row for row in rows if "tests/" not in row] == []
    for path, name in set(re.findall(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", page)):
        text = (ROOT / path).read_text()
        assert not name or re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), (path, name)
