"""Languages by the names of files, and which of them can be parsed here."""

import re

from agents.code.worker.grammars import list_installed

_SUFFIXES = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ino",
    "csharp": "cs",
    "ruby": "rb rake gemspec",
    "php": "php phtml",
    "bash": "sh bash bats",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "lua": "lua",
    "perl": "pl pm",
    "r": "r",
    "sql": "sql",
    "haskell": "hs",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc",
    "dart": "dart",
    "julia": "jl",
    "zig": "zig",
    "nim": "nim",
    "ocaml": "ml mli",
    "fsharp": "fs fsi fsx",
    "objective-c": "m mm",
    "assembly": "s asm",
    "verilog": "v sv vhd",
    "powershell": "ps1 psm1",
    "html": "html htm xhtml vue svelte jinja j2",
    "css": "css scss sass less",
    "xml": "xml xsd xsl",
    "json": "json jsonc json5",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties",
    "protobuf": "proto",
    "graphql": "graphql gql",
    "terraform": "tf hcl",
    "nix": "nix",
    "cmake": "cmake",
    "text": "txt md markdown rst adoc org tex",
}
LANGUAGES_BY_SUFFIX = {
    suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()
}
LANGUAGES_BY_NAME = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "docker",
    "containerfile": "docker",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "jenkinsfile": "groovy",
    "go.mod": "text",
    "license": "text",
    "readme": "text",
}
LANGUAGES = frozenset({*LANGUAGES_BY_SUFFIX.values(), *LANGUAGES_BY_NAME.values()})
PARSED_LANGUAGES = (
    *("bash", "c", "cpp", "csharp", "go", "java"),
    *("javascript", "php", "python", "ruby", "rust", "typescript"),
)
"""Those that have a grammar, if it is installed."""
LABELS = {
    "cpp": "C++",
    "csharp": "C#",
    "css": "CSS",
    "fsharp": "F#",
    "graphql": "GraphQL",
    "html": "HTML",
    "javascript": "JavaScript",
    "json": "JSON",
    "objective-c": "Objective-C",
    "php": "PHP",
    "powershell": "PowerShell",
    "sql": "SQL",
    "toml": "TOML",
    "typescript": "TypeScript",
    "xml": "XML",
    "yaml": "YAML",
}
ALIASES = {"c++": "cpp", "c#": "csharp", "js": "javascript", "ts": "typescript", "shell": "bash"}
_CPP_PATTERN = re.compile(rb"^\s*(?:class|namespace|template)\b", re.MULTILINE)


def detect_language(path: str) -> str:
    """Return the language of a file by its name; "" if it is none whose text is looked at."""
    name = path.rpartition("/")[2].lower()
    if name in LANGUAGES_BY_NAME:
        return LANGUAGES_BY_NAME[name]
    return LANGUAGES_BY_SUFFIX.get(name.rpartition(".")[2], "")


def find_language(written: str) -> str | None:
    """Return a language by what somebody calls it; None if there is none of that name."""
    name = written.strip().lower()
    name = ALIASES.get(name, LANGUAGES_BY_SUFFIX.get(name, name))
    return name if name in LANGUAGES else None


def get_label(language: str) -> str:
    """Return the name of a language as people write it."""
    return LABELS.get(language, language.capitalize())


def find_grammar(path: str, language: str, data: bytes) -> str:
    """Return the grammar that parses a file; "" if there is none, or it is not installed."""
    grammar = language
    if language == "typescript" and path.lower().endswith(".tsx"):
        grammar = "tsx"
    elif language == "c" and path.lower().endswith(".h") and _CPP_PATTERN.search(data):
        grammar = "cpp"
    return grammar if grammar in list_installed() else ""
