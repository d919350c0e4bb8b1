"""Lines that fit a regular expression. An expression may take for ever, so a worker looks."""

import re


def match_lines(pattern: str, text: str, limit: int) -> list[int]:
    """Return the numbers of the first lines that have a match."""
    expression = re.compile(pattern)
    found: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if expression.search(line):
            found.append(number)
            if len(found) == limit:
                break
    return found
