"""A long answer, as models write them."""

CHARS = 48 * 1024


def long_answer() -> str:
    """Paragraphs, lists and code, as answers have them."""
    parts: list[str] = []
    number = 0
    while sum(map(len, parts)) < CHARS:
        number += 1
        words = " ".join(f"word{number}x{n}" for n in range(45))
        parts.append(
            f"### Part {number}\n\n{words}, with `code` and **emphasis**.\n\n"
            f"- first of {number}\n- second of {number}\n\n"
            f"```python\ndef f{number}(x):\n    return x + {number}\n```\n\n"
        )
    return "".join(parts)
