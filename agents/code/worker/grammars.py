"""Grammars by their names. Each is a package of its own, and any of them may be missing."""

import os
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
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
    return getattr(_load_binding(grammar.package), grammar.function)()


def _load_binding(package: str) -> ModuleType:
    """Return the compiled part of a package.

    Importing the package would import what reads files out of it, which takes longer than parsing.
    """
    found = find_spec(package)
    places = found.submodule_search_locations if found else None
    spec = PathFinder.find_spec(f"{package}._binding", places)
    if spec is None or spec.loader is None:
        return import_module(package)
    binding = module_from_spec(spec)
    spec.loader.exec_module(binding)
    return binding
