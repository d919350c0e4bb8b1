"""Match lines with a regular expression, in the worker because an expression may never end."""

import re
from collections.abc import Sequence


def match_lines(pattern: str, texts: Sequence[str], limit: int) -> list[tuple[int, int]]:
    """Return which texts have a line that fits, and the number of the first such line in each.

    Raise ValueError if the pattern is invalid.
    """
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None
    found: list[tuple[int, int]] = []
    for at, text in enumerate(texts):
        numbered = enumerate(text.split("\n"), 1)
        line = next((number for number, line in numbered if expression.search(line)), 0)
        if line:
            found.append((at, line))
        if len(found) == limit:
            break
    return found
