"""What a file of code defines, uses and imports, by a grammar and its query."""

from functools import cache
from typing import Any

from tree_sitter import Language, Parser, Query, QueryCursor

from agents.code.worker.captures import Captures
from agents.code.worker.grammars import load_language, read_query
from agents.code.worker.import_forms import parse_import
from agents.code.worker.symbols import list_symbols


def extract(source: bytes, grammar: str) -> dict[str, Any]:
    """Return the definitions, the lines on which names are used, and the imports of a file."""
    parser, query = _prepare(grammar)
    found = Captures(source, QueryCursor(query).matches(parser.parse(source).root_node))
    return {
        "symbols": list(list_symbols(found)),
        "references": found.collect_references(),
        "imports": [
            [target, names, found.get_line(node.start_byte)]
            for node in found.imports
            for target, names in parse_import(grammar, found.decode(node))
        ],
    }


@cache
def _prepare(grammar: str) -> tuple[Parser, Query]:
    language = Language(load_language(grammar))
    return Parser(language), Query(language, read_query(grammar))
