"""What may stand where in a behaviour: it depends on what is around.

Only calls run side by side, a request to the model has a checkpoint of its own, and what is done at
the end asks no model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agents.core.behaviours.sexp import SourceForm
from agents.core.behaviours.values import ValueReader
from agents.core.control.kinds import ValueKind

CHECKPOINT = "budget-check"
_SIDE_BY_SIDE = frozenset({"action", "call"})
_REQUESTS = frozenset({"llm-call", "turn"})
_NOT_AT_THE_END = _REQUESTS | {"approve", "call", "parallel", "stop"}
_AGAIN = frozenset({"for-each", "repeater"})
"""What visits its node more than once."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a node stands in."""

    values: ValueReader
    writable: Mapping[str, ValueKind]
    depth: int = 0
    in_parallel: bool = False
    gathers: bool = False
    is_cleanup: bool = False
    in_checkpoint: bool = False
    requests: list[SourceForm] | None = None
    """Those under the checkpoint that holds here; None: there is none, or it is passed once for
    several visits."""


def check_place(form: SourceForm, around: Around) -> None:
    """Refuse a node that cannot stand here."""
    kind, refuse = form.head, around.values.refuse
    if around.in_parallel and kind in _REQUESTS:
        refuse(form, f"{kind} cannot stand in a parallel: a conversation has one speaker")
    elif (around.in_parallel and kind not in _SIDE_BY_SIDE | {"for-each"}) or (
        around.gathers and kind == "for-each"
    ):
        refuse(form, f"{kind} cannot stand in a parallel: only calls run side by side")
    elif around.is_cleanup and kind in _NOT_AT_THE_END:
        refuse(form, f"{kind} cannot stand in :finally: the run is over then")
    elif kind in ("turn", "call") and around.in_checkpoint:
        refuse(form, f"{kind} has a checkpoint of its own: take it out of {CHECKPOINT}")
    elif kind == "llm-call":
        _check_request(form, around)


def _check_request(form: SourceForm, around: Around) -> None:
    if around.requests is None:
        text = f"llm-call needs a checkpoint: put it into (decorator {CHECKPOINT} …)"
        around.values.refuse(form, text)
        return
    if around.requests:
        text = f"a second llm-call under one {CHECKPOINT}: each has a checkpoint of its own"
        around.values.refuse(form, text)
    around.requests.append(form)


def enter_node(kind: str, around: Around, word: str) -> Around:
    """Return what is around the children of a node of this kind."""
    inside = replace(around, depth=around.depth + 1)
    if kind == "parallel":
        inside = replace(inside, in_parallel=True)
    if kind == "decorator" and word == CHECKPOINT:
        inside = replace(inside, in_checkpoint=True, requests=[])
    elif kind in _AGAIN or word == "retry":
        inside = replace(inside, requests=None)
    return inside
