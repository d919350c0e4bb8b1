"""Words that do nothing, for texts that name some which Oracle does not have."""

import re

from agents.core.behaviours.words import WORDS, WordRegistry


def register_stand_ins(text: str) -> WordRegistry:
    """Return Oracle's own words, and one for each action and condition that a text names."""
    words = WordRegistry()
    for name, word in WORDS:
        words.register(name, word)
    for name in sorted(set(re.findall(r':fn "([\w.]+)"', text))):
        if words.find("action", name) is None:
            words.action(name)(_succeed)
    for name in sorted(set(re.findall(r"\(condition ([\w?-]+)\)", text))):
        if words.find("condition", name) is None:
            words.condition(name)(_succeed)
    return words


def _succeed(run: object) -> bool:
    return True
