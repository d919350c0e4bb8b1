"""Behaviours: what a run does next, as data. Pure.

`sexp` reads brackets and words with their places, `reader` makes a behaviour of them and finds all
mistakes: `nodes` by the `signatures` of their kinds and by their `placement`, the `parts` and
`options` of each, `values` and `ports`. `words` are the actions, conditions and decorators that
packages register, `builtin` Oracle's own; `blackboard` is what a behaviour remembers, `drawing`
shows it, `outline` is what is kept of it, and `shipped` are those that come with Oracle. `driver`
drives a run, of which it sees what `run_interface` lists: a `walk` from node to node, by what
`composites`, `leaves` and `own_calls` say; `snapshot` is where it stands, `path` the way it took,
and `trace` tells that way once more. `rehearsal` tries one on a run of the past.
"""

from agents.core.behaviours.behaviour import Behaviour, BehaviourNode
from agents.core.behaviours.reader import read_behaviour
from agents.core.behaviours.sexp import InvalidBehaviour
from agents.core.behaviours.vocabulary import BehaviourVocabulary

__all__ = [
    "Behaviour",
    "BehaviourNode",
    "BehaviourVocabulary",
    "InvalidBehaviour",
    "read_behaviour",
]
