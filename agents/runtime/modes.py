"""Modes: what people choose for a question. Each is a behaviour with its decision tree, or a
decision tree whose runs are driven as the site says."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from agents.core.behaviours import Behaviour
from agents.core.behaviours.outline import build_outline, serialize_outline
from agents.core.decisions import TREES
from agents.core.loop import get_default_behaviour
from agents.core.registry import NotRegistered
from agents.models import BehaviourText
from agents.models.runs import DEFAULT_BEHAVIOUR
from agents.runtime.behaviours import (
    BehaviourEntry,
    BehaviourLevel,
    find_fixed_behaviour,
    list_behaviours,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One of them, with a sentence of what it does and costs."""

    name: str
    description: str
    tree: str
    """The decision tree: whether a run goes on."""
    behaviour: Behaviour | None
    """What a run does next; None: the plain string of turns."""
    level: BehaviourLevel = "shipped"


def get_mode(name: str, user: User | None = None, *, called: str = "mode") -> Mode:
    """Return a mode that somebody can choose; None: that everybody can.

    Raises NotRegistered, in whose message it is `called` what the person knows it as.
    """
    if name in TREES.names():
        return _build_tree_mode(name)
    entry = find_fixed_behaviour(name) or next(
        (each for each in list_behaviours(user) if each.name == name), None
    )
    if entry is None:
        known = ", ".join(mode.name for mode in list_modes(user))
        raise NotRegistered(f"There is no {called} {name[:80]!r}. Known: {known}.")
    if (mode := _build_mode(entry)) is None:
        raise NotRegistered(f"The {called} {name!r} cannot be read any more: {entry.problems[0]}.")
    return mode


def list_modes(user: User | None = None) -> list[Mode]:
    """Return what is offered. The behaviour that drives the default one is not offered twice."""
    modes = [_build_tree_mode(name) for name in TREES.names()]
    for entry in list_behaviours(user):
        if entry.name != DEFAULT_BEHAVIOUR and (mode := _build_mode(entry)) is not None:
            modes.append(mode)
    return modes


def _build_tree_mode(name: str) -> Mode:
    about = (TREES.get(name).__doc__ or "").strip().partition("\n")[0]
    return Mode(name=name, description=about, tree=name, behaviour=get_default_behaviour())


def _build_mode(entry: BehaviourEntry) -> Mode | None:
    behaviour = entry.behaviour
    if behaviour is None:
        return None
    return Mode(
        name=entry.name,
        description=behaviour.description,
        tree=behaviour.decision_tree,
        behaviour=behaviour,
        level=entry.level,
    )


# -- what a run began with ------------------------------------------------------------------------


def store_text(behaviour: Behaviour) -> None:
    """Keep what a run begins with, once for all that begin with it. In the run's transaction."""
    outline = serialize_outline(build_outline(behaviour))
    row = BehaviourText(digest=behaviour.digest, text=behaviour.text, outline=outline)
    BehaviourText.objects.bulk_create([row], ignore_conflicts=True)
