"""Grammars by their names. Each is a package of its own, and any of them may be missing."""

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

QUERIES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "queries")
"""No `Path`: a worker is there for one file as well, and starting it is half of its work."""


class Grammar(NamedTuple):
    package: str
    function: str = "language"
    query: str = ""
    """The name of its query file, where that is not its own name."""


GRAMMARS = {
    "bash": Grammar("tree_sitter_bash"),
    "c": Grammar("tree_sitter_c"),
    "cpp": Grammar("tree_sitter_cpp"),
    "csharp": Grammar("tree_sitter_c_sharp"),
    "go": Grammar("tree_sitter_go"),
    "java": Grammar("tree_sitter_java"),
    "javascript": Grammar("tree_sitter_javascript"),
    "php": Grammar("tree_sitter_php", "language_php"),
    "python": Grammar("tree_sitter_python"),
    "ruby": Grammar("tree_sitter_ruby"),
    "rust": Grammar("tree_sitter_rust"),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx", "typescript"),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript"),
}


@cache
def list_installed() -> frozenset[str]:
    """Return the names of the grammars that are there to be used."""
    if find_spec("tree_sitter") is None:
        return frozenset()
    return frozenset(name for name, each in GRAMMARS.items() if find_spec(each.package))


def read_query(name: str) -> str:
    path = os.path.join(QUERIES, f"{GRAMMARS[name].query or name}.scm")
    with open(path, encoding="utf-8") as file:
        return file.read()


def load_language(name: str) -> object:
    """Return what the grammar's package gives to tree-sitter."""
    grammar = GRAMMARS[name]
    return getattr(import_module(grammar.package), grammar.function)()
