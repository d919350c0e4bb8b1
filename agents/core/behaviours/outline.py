"""A behaviour as plain values, to be stored and drawn when neither its file nor its words are there
any more."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """One node as it is drawn. Its number is the one that paths name."""

    number: int
    depth: int
    kind: str
    label: str
    line: int
    column: int
    within: str = ""
    """The behaviour in whose text it stands, if that is another one."""
    is_cleanup: bool = False
    """Whether it belongs to what is done at every end."""


@dataclass(frozen=True, slots=True)
class BehaviourOutline:
    name: str
    description: str
    nodes: tuple[OutlineNode, ...]
    """In the order of the text, each before those in it."""


def build_outline(behaviour: Behaviour) -> BehaviourOutline:
    nodes = [*_list_nodes(behaviour.root, 0, "", is_cleanup=False)]
    if behaviour.cleanup is not None:
        nodes += _list_nodes(behaviour.cleanup, 0, "", is_cleanup=True)
    return BehaviourOutline(behaviour.name, behaviour.description, tuple(nodes))


def _list_nodes(
    node: BehaviourNode, depth: int, within: str, *, is_cleanup: bool
) -> Iterator[OutlineNode]:
    yield OutlineNode(
        node.number, depth, node.kind, node.label, *node.place, within, is_cleanup=is_cleanup
    )
    inside = node.behaviour.name if node.behaviour is not None else within
    for child in node.children:
        yield from _list_nodes(child, depth + 1, inside, is_cleanup=is_cleanup)


def serialize_outline(outline: BehaviourOutline) -> dict[str, Any]:
    """Return what JSON can hold."""
    return {
        "name": outline.name,
        "description": outline.description,
        "nodes": [
            [
                node.number,
                node.depth,
                node.kind,
                node.label,
                node.line,
                node.column,
                node.within,
                node.is_cleanup,
            ]
            for node in outline.nodes
        ],
    }


def parse_outline(stored: Mapping[str, Any]) -> BehaviourOutline:
    """Return what was serialized."""
    nodes = tuple(OutlineNode(*values) for values in stored["nodes"])
    return BehaviourOutline(stored["name"], stored["description"], nodes)
