"""A behaviour as lines of text: each node with its number, under the one that it is in."""

from collections.abc import Iterator

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode


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
    yield f"{node.number:>4}  {branch}{node.label}"
    for child in node.children:
        is_last = child is node.children[-1]
        corner, line = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _draw_node(child, f"{indent}{corner}", f"{indent}{line}")
