"""Imports as statements write them: what is imported, and which names come of it.

    parse_import("python", "from a.b import c as d, e") == [("a.b", {"d": "c", "e": "e"})]

A name is bound to the name it has there, or to "" if it stands for the whole; `*` stands for all.
"""

import re
from collections.abc import Callable, Iterator

Import = tuple[str, dict[str, str]]
"""What is imported, and what each name here is called there."""
MAX_NAMES = 500


def parse_import(grammar: str, statement: str) -> list[Import]:
    """Return the imports of one statement; none of a statement that this does not understand."""
    parse = _PARSERS.get(grammar)
    return list(parse(statement)) if parse else []


def _parse_python(statement: str) -> Iterator[Import]:
    text = re.sub(r"#[^\n]*", "", statement).replace("\\\n", " ")
    if match := re.match(r"from\s+([.\w\s]+?)\s+import\s+(.*)", text, re.DOTALL):
        names = match[2].strip().strip("()")
        yield match[1].replace(" ", ""), dict(_parse_names(names, r"\s+as\s+"))
        return
    for part in re.sub(r"^import\s", "", text).split(",")[:MAX_NAMES]:
        name, alias = _split_alias(part, r"\s+as\s+")
        if name:
            yield name, {alias: ""}


def _parse_names(text: str, between: str) -> Iterator[tuple[str, str]]:
    """Return (name here, name there) of a list with commas."""
    for part in text.split(",")[:MAX_NAMES]:
        name, alias = _split_alias(part, between)
        if name:
            yield alias, name


def _split_alias(part: str, between: str) -> tuple[str, str]:
    name, *alias = re.split(between, part.strip(), maxsplit=1)
    return name, alias[0] if alias else name


_PARSERS: dict[str, Callable[[str], Iterator[Import]]] = {
    "python": _parse_python,
}
