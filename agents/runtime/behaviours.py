"""The behaviours that can drive somebody's runs: shipped, of packages, files of the operator, of
staff, and their own. Rows are read whenever they are asked for; texts are parsed once."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from django.contrib.auth.models import User
from django.db.models import Q

from agents.core.behaviours import (
    Behaviour,
    BehaviourVocabulary,
    InvalidBehaviour,
    read_behaviour,
)
from agents.core.behaviours.packaged import PACKAGED
from agents.core.behaviours.sexp import MAX_LENGTH
from agents.core.behaviours.shipped import FILE_SUFFIX, load_shipped_texts
from agents.core.control.problems import PlacedProblem
from agents.core.decisions import TREES
from agents.models import StoredBehaviour
from agents.runtime.site_files import SiteFolder
from agents.tools import registry

BehaviourLevel = Literal["shipped", "package", "file", "site", "own"]
MAX_BYTES_PER_CHARACTER = 4
MAX_PARSED = 256
"""Texts that are kept as they were read: a large one takes half a megabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourEntry:
    """A behaviour, and where it comes from."""

    name: str
    level: BehaviourLevel
    text: str
    behaviour: Behaviour | None
    """None: it can no longer be read."""
    problems: tuple[PlacedProblem, ...] = ()
    file: str = ""
    """If it is a file of the operator's; pages only show it."""
    row: StoredBehaviour | None = None


def list_behaviours(user: User | None) -> list[BehaviourEntry]:
    """Return all that somebody can choose; None: what everybody can. Of two with one name, the one
    nearer to the person holds."""
    mine = Q(level="site") if user is None else Q(level="site") | Q(user=user)
    rows = StoredBehaviour.objects.filter(mine).select_related("changed_by").order_by("name")
    found = {entry.name: entry for entry in list_common_behaviours()}
    taken = {name for name, entry in found.items() if entry.level != "file"}
    nearer = sorted(rows, key=lambda row: row.level == "own")
    stored = {row.name: row for row in nearer if row.name not in taken and row.name not in TREES}
    texts = {name: entry.text for name, entry in found.items()}
    texts |= {name: row.text for name, row in stored.items()}
    for name, row in stored.items():
        found[name] = _read_row(row, texts)
    return list(found.values())


def list_common_behaviours() -> list[BehaviourEntry]:
    """Return those that are no rows: everybody has them."""
    return [*_iter_fixed(), *_iter_files()]


def find_fixed_behaviour(name: str) -> BehaviourEntry | None:
    """Return one of those that are settled at start-up."""
    return next((entry for entry in _iter_fixed() if entry.name == name), None)


def is_reserved(name: str) -> bool:
    """Return whether a name is taken for good: nobody can write a behaviour of this name."""
    return name in TREES or find_fixed_behaviour(name) is not None


def parse_behaviour(text: str, others: Mapping[str, str]) -> Behaviour:
    """Read a stored behaviour that may name those `others`. Raises InvalidBehaviour. What was read
    once is kept; of texts that several name, one copy."""
    named = sorted(others.items()) if "subtree" in text else ()
    return _parse(text, tuple((name, sys.intern(other)) for name, other in named))


@lru_cache(maxsize=MAX_PARSED)
def _parse(text: str, others: tuple[tuple[str, str], ...]) -> Behaviour:
    return read_typed_behaviour(text, dict(others))


def read_typed_behaviour(text: str, others: Mapping[str, str]) -> Behaviour:
    """Read a behaviour that is being written: there may be thousands, so none of them is kept."""
    vocabulary = BehaviourVocabulary(
        tools=registry.list_parameters(), decision_trees=TREES.names(), behaviours=others
    )
    return read_behaviour(text, vocabulary)


def _iter_fixed() -> Iterator[BehaviourEntry]:
    shipped = load_shipped_texts()
    for name, text in shipped.items():
        behaviour = parse_behaviour(text, shipped)
        yield BehaviourEntry(name=name, level="shipped", text=text, behaviour=behaviour)
    for name, package in PACKAGED:
        yield BehaviourEntry(name=name, level="package", text=package.text, behaviour=package)


def _iter_files() -> Iterator[BehaviourEntry]:
    for file in BEHAVIOUR_FILES.load():
        yield BehaviourEntry(
            name=file.value.name,
            level="file",
            text=file.text,
            behaviour=file.value,
            file=file.path,
        )


class BehaviourFolder(SiteFolder[Behaviour]):
    """The operator's files, which may name each other."""

    suffix = FILE_SUFFIX
    max_size = MAX_LENGTH * MAX_BYTES_PER_CHARACTER
    name_each_other = True

    def __init__(self) -> None:
        super().__init__("behaviours", read_behaviour)

    def _read_file(self, stem: str, text: str, others: Mapping[str, str]) -> Behaviour:
        behaviour = parse_behaviour(text, {**others, **list_texts(_iter_fixed())})
        name, problem = behaviour.name, ""
        if name != stem:
            problem = f"{name!r} is in a file of another name: call it {name}{FILE_SUFFIX}"
        elif is_reserved(name):
            problem = f"there is already a mode {name!r}: give this one another name"
        if problem:
            raise InvalidBehaviour([PlacedProblem(1, 1, problem)])
        return behaviour


def _read_row(row: StoredBehaviour, texts: Mapping[str, str]) -> BehaviourEntry:
    level: BehaviourLevel = "own" if row.level == "own" else "site"
    behaviour = None
    problems: tuple[PlacedProblem, ...] = ()
    try:
        behaviour = parse_behaviour(row.text, texts)
    except InvalidBehaviour as error:  # an earlier version took it, or what it names is gone
        problems = error.problems
    return BehaviourEntry(
        name=row.name,
        level=level,
        text=row.text,
        behaviour=behaviour,
        problems=problems,
        row=row,
    )


def list_texts(entries: Iterable[BehaviourEntry]) -> dict[str, str]:
    """Return the texts that a behaviour may name, by their names."""
    return {entry.name: entry.text for entry in entries}


BEHAVIOUR_FILES = BehaviourFolder()
