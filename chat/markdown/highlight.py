"""Code blocks: a head that names the language, and the code, coloured once it is whole."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from markdown_it.common.utils import unescapeAll
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType

MAX_HIGHLIGHT_CHARS = 8_000
"""Longer code stays plain: 10 ms of lexing for each 4,000 characters."""
_PATHOLOGICAL = re.compile(r"[^\n]{400}|(?:[ \t]*\n){20}")
"""So does code with lines or gaps that nobody writes: there, lexers are slower than linear."""

LANGUAGES = frozenset({
    "bash", "batch", "c", "clojure", "console", "cpp", "csharp", "css", "dart", "diff", "docker",
    "elixir", "erlang", "go", "graphql", "groovy", "haskell", "html", "http", "ini", "java",
    "javascript", "json", "julia", "kotlin", "latex", "lua", "make", "markdown", "nginx", "nix",
    "ocaml", "perl", "php", "powershell", "protobuf", "pycon", "python", "r", "ruby", "rust",
    "scala", "scss", "sql", "swift", "terraform", "toml", "typescript", "xml", "yaml", "zig",
})  # fmt: skip
"""What is coloured. Anything else stays plain: a lexer is a lot of code to open to a stranger."""

_ALIASES = {
    "c++": "cpp", "c#": "csharp", "cs": "csharp", "dockerfile": "docker", "hcl": "terraform",
    "hs": "haskell", "js": "javascript", "jsonc": "json", "jsx": "javascript", "kt": "kotlin",
    "makefile": "make", "md": "markdown", "patch": "diff", "proto": "protobuf",
    "ps1": "powershell", "py": "python", "python3": "python", "rb": "ruby", "rs": "rust",
    "sh": "bash", "shell": "bash", "svg": "xml", "tex": "latex", "tf": "terraform",
    "ts": "typescript", "tsx": "typescript", "yml": "yaml", "zsh": "bash",
}  # fmt: skip

_SUFFIXES = {
    "bat": "batch", "cc": "cpp", "cjs": "javascript", "clj": "clojure", "cxx": "cpp",
    "ex": "elixir", "exs": "elixir", "erl": "erlang", "gql": "graphql", "h": "c", "hh": "cpp",
    "hpp": "cpp", "htm": "html", "jl": "julia", "mjs": "javascript", "mk": "make", "ml": "ocaml",
    "pl": "perl", "pm": "perl", "pyi": "python", "mts": "typescript", "cts": "typescript",
}  # fmt: skip
"""Ends of the names of files that nobody writes as the name of a language."""

_NAMES = {"dockerfile": "docker", "makefile": "make"}

_LEXERS = {"csharp": "javascript", "groovy": "javascript", "java": "javascript"}
"""Their own lexers take quadratic time over plain words; JavaScript reserves Java's keywords."""

_CLASSES = {
    Token.Comment: "c",
    Token.Comment.Preproc: "k",
    Token.Generic.Deleted: "gd",
    Token.Generic.Heading: "nf",
    Token.Generic.Inserted: "gi",
    Token.Generic.Prompt: "c",
    Token.Generic.Subheading: "nf",
    Token.Keyword: "k",
    Token.Literal.Number: "m",
    Token.Literal.String: "s",
    Token.Name.Attribute: "na",
    Token.Name.Builtin: "nb",
    Token.Name.Class: "nf",
    Token.Name.Decorator: "na",
    Token.Name.Exception: "nb",
    Token.Name.Function: "nf",
    Token.Name.Tag: "k",
    Token.Operator.Word: "k",
}
HIGHLIGHT_CLASSES = frozenset(_CLASSES.values())
_NAME = re.compile(r"[^\s{]+")
_MAX_INFO_LENGTH = 200


def render_code(info: str, code: str, *, more: bool = False, colours: bool = True) -> str:
    """Render the block, in an empty frame for a button. `more`: a piece, with no head."""
    info = unescapeAll(info).strip()[:_MAX_INFO_LENGTH]
    named = _NAME.match(info)
    name = named[0] if named else ""
    language = _ALIASES.get(name.lower(), name.lower())
    known = language in LANGUAGES
    inner = highlight_code(code, language) if known and colours else escape(code)
    kind = f' class="language-{language}"' if known else ""
    head = "" if more else f'<div class="code-head">{escape(info)}</div>'
    frame = "code more" if more else "code"
    return f'<div class="{frame}">{head}<pre tabindex="0"><code{kind}>{inner}</code></pre></div>\n'


def find_language(name: str) -> str:
    """Return the language that is coloured in a file of this name; empty if there is none."""
    _, dot, suffix = name.rpartition("/")[2].lower().rpartition(".")
    if not dot:
        return _NAMES.get(suffix, "")
    language = _SUFFIXES.get(suffix) or _ALIASES.get(suffix, suffix)
    return language if language in LANGUAGES else ""


def highlight_code(code: str, language: str) -> str:
    """Return spans of short classes."""
    return "".join(_render_span(kind, text) for kind, text in _find_spans(code, language))


def highlight_lines(code: str, language: str) -> list[str]:
    """Return the lines of code as `highlight_code` renders them, but no span crosses lines."""
    lines = [""]
    for kind, text in _find_spans(code, language):
        first, *others = text.split("\n")
        lines[-1] += _render_span(kind, first)
        lines += [_render_span(kind, other) for other in others]
    return lines


def _render_span(kind: str, text: str) -> str:
    return f'<span class="{kind}">{escape(text)}</span>' if kind and text else escape(text)


def _find_spans(code: str, language: str) -> list[tuple[str, str]]:
    """Return classes and texts. A lexer that fails, or changes the text, is not believed."""
    if not language or len(code) > MAX_HIGHLIGHT_CHARS or _PATHOLOGICAL.search(code):
        return [("", code)]
    try:
        spans = list(_iter_spans(_get_lexer(language), code))
    except Exception:
        return [("", code)]
    return spans if "".join(text for _, text in spans) == code else [("", code)]


def _iter_spans(lexer: Lexer, code: str) -> Iterator[tuple[str, str]]:
    """Yield spans, neighbours of one class as one: a third of the bytes, the same picture."""
    pairs = ((_css_class(kind), text) for kind, text in lexer.get_tokens(code))
    for kind, group in groupby(pairs, key=lambda pair: pair[0]):
        yield kind, "".join(text for _, text in group)


@cache
def _css_class(kind: _TokenType) -> str:
    if kind in _CLASSES:
        return _CLASSES[kind]
    return _css_class(kind.parent) if kind.parent else ""


@cache
def _get_lexer(language: str) -> Lexer:
    return get_lexer_by_name(_LEXERS.get(language, language), stripnl=False, ensurenl=False)


def escape(text: str) -> str:
    """Return text for between tags; never for an attribute."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
