"""Derive the path of a turn through the shipped behaviour, for runs that the built-in loop drove
without one: it does the same."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from agents.core.behaviours.outline import BehaviourOutline, build_outline
from agents.core.behaviours.reader import read_behaviour
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.behaviours.trace import TurnWay

_START = "2+"
_CALLED = "7+ 10+ 11+ 12+ 15+ 9+ 8+ 6+ 5+ 4-"
_ANSWERED = "7+ 10- 9- 16+ 8+ 6+ 5+ 4-"
_ENDED = "4! 3! 1!"


@cache
def load_shipped_outline() -> BehaviourOutline:
    """Return the behaviour that says what the plain string does."""
    return build_outline(read_behaviour(load_shipped_texts()["oracle-agent"]))


def guess_ways(
    turns: Sequence[tuple[TurnWay, bool]], *, is_over: bool, is_wrapped_up: bool
) -> list[TurnWay]:
    """Return the ways of turns, each given with whether it called tools.

    The turn of a wrap-up is the shell's: the behaviour is halted before it.
    """
    ways = [TurnWay(turn=0, path=_START)]
    ways += [replace(way, path=_CALLED if called else _ANSWERED) for way, called in turns]
    if is_over or is_wrapped_up:
        ways[-1] = replace(ways[-1], path=f"{ways[-1].path} {_ENDED}")
    return ways
