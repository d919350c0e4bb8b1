"""Random expressions: well formed ones of every kind, and texts that only look like some."""

from random import Random
from typing import Any

from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind, RecordKind
from agents.core.control.language import Language

TOOL = RecordKind("tool", {"name": TEXT, "size": NUMBER, "success": TRUTH})
LANGUAGE = Language(
    names={
        "result": TOOL,
        "tools": ListKind(TOOL),
        "failures": MapKind(NUMBER),
        "state": MapKind(ANY),
        "sizes": ListKind(NUMBER),
        "turn": NUMBER,
        "question": TEXT,
        "done": TRUTH,
    }
)
VALUES: dict[str, Any] = {
    "result": {"name": "vault_read", "size": 20_000, "success": True},
    "tools": [
        {"name": name, "size": size, "success": size % 2 == 0}
        for name, size in (("vault_read", 4), ("vault_search", 7), ("think", 0))
    ],
    "failures": {"vault_read": 3, "web_fetch": 1},
    "state": {"count": 2, "words": ["a", "b"], "nested": {"x": None}},
    "sizes": [3, -1, 2.5],
    "turn": 5,
    "question": "What is it?",
    "done": False,
}
_PIECES: list[str] = [
    *"+-*/%()[]{}.,:<>=!'\"@~^|&\\ \n_#é\0",
    *("**", "//", "==", "!=", "<=", ">=", " and ", " or ", " not ", " in ", " is ", " if "),
    *(" else ", " for x in ", "lambda ", " await ", "1", "0", "9999999999", "1e999", "0x1f", "1j"),
    *("'a'", "f'{x}'", "b'a'", "...", ":=", "None", "true", "x", "x.name", "__class__"),
    *(*LANGUAGE.names, *LANGUAGE.functions, "result.size", "tools[0]", "state.count", "import"),
]


def write_noise(random: Random) -> str:
    """A text of pieces of the language and of what is beside it, in any order."""
    return "".join(random.choices(_PIECES, k=random.randint(1, 25)))


def damage(text: str, random: Random) -> str:
    """A text with a piece taken out, put in or put elsewhere."""
    at = random.randrange(len(text) + 1)
    return (
        text[:at] + random.choice(["", random.choice(_PIECES)]) + text[at + random.randint(0, 3) :]
    )


def write_number(random: Random, depth: int, item: str = "") -> str:
    if depth <= 0:
        leaves = [
            "1",
            "2.5",
            "0",
            "-3",
            "turn",
            "result.size",
            "failures['web_fetch']",
            "len(tools)",
        ]
        return random.choice([*leaves, f"{item}.size"] if item else leaves)
    left, right = write_number(random, depth - 1, item), write_number(random, depth - 2, item)
    choices = [
        f"({left} {random.choice(['+', '-', '*', '/', '//', '%'])} {right})",
        f"-{left}",
        f"abs({left})",
        f"min({left}, {right})",
        f"max([{left}, {right}])",
        f"({left} if {write_truth(random, depth - 2, item)} else {right})",
        f"round({left}, 2)",
    ]
    if not item:
        choices.append(f"sum({write_number(random, depth - 2, 'x')} for x in tools)")
    return random.choice(choices)


def write_text(random: Random, depth: int, item: str = "") -> str:
    if depth <= 0:
        leaves = ["'vault'", '""', "question", "result.name"]
        return random.choice([*leaves, f"{item}.name"] if item else leaves)
    left = write_text(random, depth - 1, item)
    return random.choice(
        [
            f"({left} + {write_text(random, depth - 2, item)})",
            f"lower({left})",
            f"text({write_number(random, depth - 1, item)})",
        ]
    )


def write_truth(random: Random, depth: int, item: str = "") -> str:
    if depth <= 0:
        leaves = ["true", "False", "done", "result.success", "state.count == 2"]
        return random.choice([*leaves, f"{item}.success"] if item else leaves)
    number, other = write_number(random, depth - 1, item), write_number(random, depth - 2, item)
    text, more = write_text(random, depth - 1, item), write_text(random, depth - 2, item)
    choices = [
        f"{number} {random.choice(['<', '<=', '>', '>=', '==', '!='])} {other}",
        f"0 <= {number} < {other}",
        f"{text} in {more}",
        f"starts_with({text}, {more})",
        f"matches({text}, 'v*t?')",
        f"not {write_truth(random, depth - 1, item)}",
        f"({write_truth(random, depth - 1, item)} and {write_truth(random, depth - 2, item)})",
        f"({write_truth(random, depth - 1, item)} or {write_truth(random, depth - 2, item)})",
    ]
    if not item:
        choices.append(f"any({write_truth(random, depth - 2, 'x')} for x in tools)")
        choices.append(f"len([x for x in tools if {write_truth(random, depth - 2, 'x')}]) > 0")
    return f"({random.choice(choices)})"


def write_any(random: Random) -> str:
    """A text of one of all these sorts."""
    writer = random.choice([write_number, write_text, write_truth])
    match random.randrange(3):
        case 0:
            return writer(random, random.randint(0, 5))
        case 1:
            return damage(writer(random, random.randint(0, 4)), random)
        case _:
            return write_noise(random)
