"""Search by regular expressions: a query between slashes, line by line over all that was read.

Expressions come from models and people, and one may take for ever: the worker looks, and is ended.
"""

import time
from collections.abc import Iterator, Sequence
from uuid import UUID

from agents.code.code_search import MAX_SNIPPET_CHARS, choose_files, find_symbol_around
from agents.code.parser_process import SECONDS_PER_SEARCH, ParserProcess, WorkerEnded
from agents.code.service import CodeHit, CodeRefused, CodeSearchResult
from agents.models import CodeFile

MAX_SECONDS = 4.0
"""Of all that is looked at for one expression."""
BATCH_CHARS = 1024 * 1024


def get_pattern(query: str) -> str:
    """Return the expression of a query such as /read_\\w+/; "" if it is words."""
    written = query.strip()
    is_expression = len(written) > 2 and written[0] == written[-1] == "/"
    return written[1:-1] if is_expression else ""


def search_lines(
    project_id: UUID,
    pattern: str,
    *,
    limit: int,
    language: str = "",
    seconds: float = SECONDS_PER_SEARCH,
) -> CodeSearchResult:
    """Return the first files, by path, that have a line which fits an expression."""
    files = choose_files(project_id, language).exclude(text="").order_by("path")
    ends_at = time.monotonic() + MAX_SECONDS
    hits: list[CodeHit] = []
    with ParserProcess(seconds=seconds) as worker:
        for batch in _cut_batches(files.only("path", "language", "text").iterator(200)):
            hits += _match(worker, pattern, batch, limit - len(hits))
            if len(hits) >= limit:
                break
            if time.monotonic() > ends_at:
                note = f"/{pattern}/ takes long: files after {batch[-1].path} were not looked at."
                return CodeSearchResult(tuple(hits), note=note)
    return CodeSearchResult(tuple(hits))


def _cut_batches(files: Iterator[CodeFile]) -> Iterator[list[CodeFile]]:
    batch: list[CodeFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file.text)
        if size >= BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _match(
    worker: ParserProcess, pattern: str, batch: Sequence[CodeFile], limit: int
) -> list[CodeHit]:
    try:
        found = worker.match_lines(pattern, [file.text for file in batch], limit)
    except WorkerEnded:
        raise CodeRefused(
            f"/{pattern}/ takes too long; make it simpler, or look for words."
        ) from None
    except ValueError as error:
        raise CodeRefused(f"/{pattern}/ is not a regular expression: {error}.") from None
    return [_build_hit(batch[at], line) for at, line in found]


def _build_hit(file: CodeFile, line: int) -> CodeHit:
    return CodeHit(
        path=file.path,
        language=file.language,
        symbol=find_symbol_around(file.pk, line),
        line=line,
        snippet=file.text.split("\n")[line - 1].strip()[:MAX_SNIPPET_CHARS],
        score=1.0,
        first_line=line,
        last_line=line,
    )
