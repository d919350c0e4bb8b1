"""Texts of behaviours with something changed in them, as a hand or an editor might."""

import random
import re

from agents.core.behaviours.signatures import NODE_KINDS

_PIECES = (
    *'()[]{}":;,\\\n \x00\u202e\uff08\u300d\u201c',
    *NODE_KINDS,
    *(f":{name}" for kind in NODE_KINDS.values() for name in kind.options),
    "nil",
    "true",
    "-1",
    "9999999999",
    '"{plan}"',
    '"len("',
    "(blackboard :plan)",
    '(expr "1")',
    "{:a 1}",
    "[1 2]",
)
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\]{}]|[^\s()\[\]{}"]+|\s+')


def mutate(text: str, rng: random.Random) -> str:
    """Return the text with one to four changes."""
    for _ in range(rng.randint(1, 4)):
        text = rng.choice((_change_letters, _change_tokens, _move_tokens))(text, rng)
    return text


def _change_letters(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((0, 1, 1, 2, 10)))
    return text[:start] + rng.choice(("", rng.choice(_PIECES))) + text[end:]


def _change_tokens(text: str, rng: random.Random) -> str:
    tokens = _TOKENS.findall(text) or [""]
    at = rng.randrange(len(tokens))
    tokens[at] = rng.choice(("", rng.choice(_PIECES), tokens[rng.randrange(len(tokens))]))
    return "".join(tokens)


def _move_tokens(text: str, rng: random.Random) -> str:
    """Return the text with some of its tokens standing elsewhere, perhaps in both places."""
    tokens = _TOKENS.findall(text) or [""]
    start = rng.randrange(len(tokens))
    some = tokens[start : start + rng.randint(1, 12)]
    if rng.random() < 0.5:
        del tokens[start : start + len(some)]
    at = rng.randrange(len(tokens) + 1)
    return "".join((*tokens[:at], *some, *tokens[at:]))
