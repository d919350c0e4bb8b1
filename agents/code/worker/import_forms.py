"""Imports as statements write them: what is imported, and which names come of it.

    parse_import("python", "from a.b import c as d, e") == [("a.b", {"d": "c", "e": "e"})]

A name is bound to the name it has there, or to "" if it stands for the whole; `*` stands for all.
"""

import re
from collections.abc import Callable, Iterator

Import = tuple[str, dict[str, str]]
"""What is imported, and what each name here is called there."""
MAX_NAMES = 500
MAX_DEPTH = 20
WHOLE, ALL = "", "*"


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
            yield name, {alias: WHOLE}


def _parse_names(text: str, between: str) -> Iterator[tuple[str, str]]:
    """Return (name here, name there) of a list with commas."""
    for part in text.split(",")[:MAX_NAMES]:
        name, alias = _split_alias(part, between)
        if name:
            yield alias, name


def _split_alias(part: str, between: str) -> tuple[str, str]:
    name, *alias = re.split(between, part.strip(), maxsplit=1)
    return name, alias[0] if alias else name


def _parse_script(statement: str) -> Iterator[Import]:
    """JavaScript and TypeScript: imports, exports of what others have, and `require`."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", statement, flags=re.DOTALL)
    source = re.search(r"""(?:\bfrom|\bimport|require\s*\()\s*['"]([^'"\n]+)['"]""", text)
    if source is None:
        return
    clause = re.sub(r"^\s*(?:import|export)\s*(?:type\b)?", "", text[: source.start()])
    names: dict[str, str] = {}
    if braces := re.search(r"\{([^}]*)\}", clause):
        between = r"\s*:\s*" if "require" in text else r"\s+as\s+"
        listed = re.sub(r"\btype\s+(?=\w)", "", braces[1])
        names.update(_parse_names(listed, between))
        clause = clause.replace(braces[0], "")
    if star := re.search(r"\*(?:\s*as\s+([\w$]+))?", clause):
        names.update({star[1]: WHOLE} if star[1] else {ALL: ALL})
        clause = clause.replace(star[0], "")
    if single := re.search(r"[\w$]+", clause):
        names[single[0]] = WHOLE if "require" in text else "default"
    yield source[1], names


def _parse_go(statement: str) -> Iterator[Import]:
    match = re.search(r"""([\w.]+)?\s*["`]([^"`\n]+)["`]""", statement)
    if match is None:
        return
    package = match[2].rpartition("/")[2]
    if re.fullmatch(r"v\d+", package):
        package = match[2].split("/")[-2] if match[2].count("/") else package
    alias = match[1] or package
    yield match[2], {ALL: ALL} if alias == "." else {alias: WHOLE}


def _parse_rust(statement: str) -> Iterator[Import]:
    if module := re.search(r"\bmod\s+(\w+)\s*;", statement):
        yield f"self::{module[1]}", {module[1]: WHOLE}
    elif used := re.search(r"\buse\s+(.*?);?\s*$", statement, re.DOTALL):
        for path in _expand_braces(" ".join(used[1].split())):
            path, alias = _split_alias(path, r"\s+as\s+")
            target, _, name = path.rpartition("::")
            if name == ALL:
                yield target, {ALL: ALL}
            elif name == "self":
                short = target.rpartition("::")[2]
                yield target, {short: WHOLE}
            elif target:
                yield target, {alias.rpartition("::")[2]: name}


def _expand_braces(text: str, depth: int = 0) -> list[str]:
    """Return `a::{b, c::{d}}` as `a::b` and `a::c::d`."""
    start = text.find("{")
    if start < 0 or depth > MAX_DEPTH:
        return [part.strip() for part in text.split(",") if part.strip()][:MAX_NAMES]
    head, inner = text[:start], text[start + 1 : text.rfind("}")]
    *before, head = head.split(",")
    parts = [
        head.strip() + each
        for part in _split_outside(inner)
        for each in _expand_braces(part, depth + 1)
    ]
    return [*(part.strip() for part in before if part.strip()), *parts][:MAX_NAMES]


def _split_outside(text: str) -> list[str]:
    """Return the parts between commas that are within no braces."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _parse_java(statement: str) -> Iterator[Import]:
    match = re.match(r"import\s+(static\s+)?([\w.]+?)(\.\*)?\s*;?\s*$", statement)
    if match is None:
        return
    if match[3]:
        yield match[2], {ALL: ALL}
        return
    target, _, name = match[2].rpartition(".")
    yield (target, {name: name}) if match[1] else (match[2], {name: name})


def _parse_include(statement: str) -> Iterator[Import]:
    if match := re.match(r"""\s*#\s*include\s*(?:"([^"\n]+)"|<([^>\n]+)>)""", statement):
        yield match[1] or match[2], {ALL: ALL}


def _parse_csharp(statement: str) -> Iterator[Import]:
    match = re.match(r"(?:global\s+)?using\s+(?:static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)", statement)
    if match is None:
        return
    target, _, name = match[2].rpartition(".")
    yield (target, {match[1]: name}) if match[1] else (match[2], {ALL: ALL})


def _parse_quoted(statement: str) -> Iterator[Import]:
    """Ruby's `require` and its like, and PHP's `include`: all of what the file defines."""
    if match := re.search(r"""['"]([^'"\n]+)['"]""", statement):
        yield match[1], {ALL: ALL}


def _parse_php(statement: str) -> Iterator[Import]:
    used = re.match(r"use\s+(?:function\s+|const\s+)?(.*?);?\s*$", statement, re.DOTALL)
    if used is None:
        yield from _parse_quoted(statement)
        return
    for path in _expand_braces(" ".join(used[1].split())):
        path, alias = _split_alias(path, r"\s+as\s+")
        name = path.rpartition("\\")[2]
        yield path.lstrip("\\"), {alias.rpartition("\\")[2]: name}


def _parse_bash(statement: str) -> Iterator[Import]:
    if match := re.match(r"""(?:source|\.)\s+["']?([^"'\n;|&]+)["']?""", statement):
        path = re.sub(r"^\$(?:\{[^}]*\}|\([^)]*\)|\w+)/", "", match[1].strip())
        yield path, {ALL: ALL}


_PARSERS: dict[str, Callable[[str], Iterator[Import]]] = {
    "bash": _parse_bash,
    "c": _parse_include,
    "cpp": _parse_include,
    "csharp": _parse_csharp,
    "go": _parse_go,
    "java": _parse_java,
    "javascript": _parse_script,
    "php": _parse_php,
    "python": _parse_python,
    "ruby": _parse_quoted,
    "rust": _parse_rust,
    "tsx": _parse_script,
    "typescript": _parse_script,
}
