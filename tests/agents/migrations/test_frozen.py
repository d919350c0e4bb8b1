"""Migrations do today what they did when they were written: they run no live code of ours."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OURS = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
)
MIGRATIONS = sorted(path for name in OURS for path in (ROOT / name).rglob("migrations/*.py"))
NAMED_BY_FIELDS = {
    "agents.models.runs.today",
    "agents.models.settings.known_tree",
    "agents.models.api_tokens.known_scopes",
}
"""Defaults and validators: Django compares them with those of the models by their paths."""


def live_names(source: str) -> Iterator[str]:
    """Yield what a migration takes from our packages, without the modules frozen beside it."""
    tree = ast.parse(source)
    modules = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    for name in filter(is_ours, modules):
        used = {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        yield from {each for each in used if each.startswith(f"{name}.")} or {name}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or is_ours(node.module or "")):
            frozen = f"{node.module}".rpartition(".")[2].startswith("_frozen")
            yield from [] if frozen else [f"{node.module}.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Name | ast.Attribute) and "import_" in dotted(node):
            yield dotted(node)


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in OURS


def dotted(node: ast.AST) -> str:
    return ast.unparse(node)


def test_migrations_are_found() -> None:
    names = {path.name for path in MIGRATIONS}
    assert {"0001_initial.py", "0003_audit.py", "_frozen_signing.py"} <= names


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_migration_imports_nothing_of_ours_but_what_fields_name(path: Path) -> None:
    assert set(live_names(path.read_text())) <= NAMED_BY_FIELDS


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from agents.models import chain", "agents.models.chain"),
        ("import agents.models.chain\nagents.models.chain.close(1)", "agents.models.chain.close"),
        ("import agents.models.chain as it\nit.close(1)", "agents.models.chain"),
        ("from ..models import triggers", "models.triggers"),
        ("def move(apps, editor):\n    from chat.tree import add", "chat.tree.add"),
        ("from importlib import import_module\nimport_module('chat')", "import_module"),
    ],
)
def test_live_code_would_be_found(source: str, found: str) -> None:
    assert found in set(live_names(source))
