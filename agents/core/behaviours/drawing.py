"""A behaviour as lines of text: each node with its number, under the one that it is in."""

from collections.abc import Iterator

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode

MAX_WIDTH = 100
"""Of what is drawn of a node: it stands on one line."""


def draw_behaviour(behaviour: Behaviour) -> Iterator[str]:
    """Yield the lines of a drawing."""
    yield f"{behaviour.name}: {behaviour.description}".removesuffix(": ")
    if behaviour.decision_tree != "default":
        yield f"decision tree: {behaviour.decision_tree}"
    for name, key in behaviour.schema.items():
        yield f":{name} is {key.kind.name}"
    yield ""
    yield from _draw_node(behaviour.root, "", "")
    if behaviour.cleanup is not None:
        yield "finally"
        yield from _draw_node(behaviour.cleanup, "", "")


def _draw_node(node: BehaviourNode, branch: str, indent: str) -> Iterator[str]:
    label = node.label if len(node.label) <= MAX_WIDTH else f"{node.label[: MAX_WIDTH - 1]}…"
    yield f"{node.number:>4}  {branch}{label}"
    for child in node.children:
        is_last = child is node.children[-1]
        corner, line = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _draw_node(child, f"{indent}{corner}", f"{indent}{line}")
