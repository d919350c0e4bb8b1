"""Attributes, items and loops of expressions: what is missing is nothing, never an error."""

from collections.abc import Iterator, Mapping
from typing import Any

from agents.core.control.evaluation import Evaluation, Run, Unanswerable
from agents.core.control.kinds import kind_of


def build_lookup(thing: Run, name: str) -> Run:
    """Return what takes an attribute of a thing: an entry of a mapping, never one of an object."""

    def run(evaluation: Evaluation) -> Any:
        value = thing(evaluation)
        if type(value) is dict:  # nearly always, and quicker to ask for
            return value.get(name)
        return value.get(name) if isinstance(value, Mapping) else None

    return run


def build_field(thing: str, name: str) -> Run:
    """Return what takes an attribute of a thing that is known by its own name."""

    def run(evaluation: Evaluation) -> Any:
        value = evaluation.values.get(thing)
        if type(value) is dict:
            return value.get(name)
        return value.get(name) if isinstance(value, Mapping) else None

    return run


def build_item(container: Run, key: Run, place: tuple[int, int]) -> Run:
    """Return what takes an item of a list by its number, of a map by its name."""

    def run(evaluation: Evaluation) -> Any:
        values, wanted = container(evaluation), key(evaluation)
        if values is None or wanted is None:
            return None
        if isinstance(values, Mapping) and isinstance(wanted, str):
            return values.get(wanted)
        if isinstance(values, list | tuple) and type(wanted) is int:
            return values[wanted] if -len(values) <= wanted < len(values) else None
        text = f"{kind_of(values).name} has no item for {kind_of(wanted).name}"
        raise Unanswerable(place, text)

    return run


def build_loop(
    items: Run, tests: tuple[Run, ...], value: Run, steps: int, place: tuple[int, int]
) -> Run:
    """Return what goes over a list. Each round costs its steps, so that no loop is long."""

    def run(evaluation: Evaluation) -> Iterator[Any]:
        found = items(evaluation)
        if not isinstance(found, list | tuple):
            if found is None:
                return
            raise Unanswerable(place, f"a loop goes over a list, not over {kind_of(found).name}")
        for item in found:
            evaluation.spend(steps, place)
            evaluation.item = item
            if all(test(evaluation) for test in tests):
                yield value(evaluation)

    return run
