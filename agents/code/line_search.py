"""Search by regular expressions: a query between slashes, line by line over all that was read.

Expressions come from models and people, and one may take for ever: the worker looks, and is ended.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from agents.code.code_search import MAX_SNIPPET_CHARS, choose_files, find_symbol_around
from agents.code.parser_process import SECONDS_PER_SEARCH, ParserProcess, WorkerEnded
from agents.code.service import CodeHit, CodeRefused, CodeSearchResult
from agents.models import CodeFile

MAX_SECONDS = 4.0
"""For all expressions of a search together."""
BATCH_BYTES, BATCH_FILES = 1024 * 1024, 500


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
    share: float = 1.0,
) -> CodeSearchResult:
    """Return the first files, by path, that have a line which fits an expression.

    `share` is its part of the time, where there are several expressions.
    """
    files = choose_files(project_id, language).exclude(text="").order_by("path")
    ends_at = time.monotonic() + share * MAX_SECONDS
    hits: list[CodeHit] = []
    last_path = ""
    with ParserProcess(seconds=seconds) as worker:
        for ids in _cut_batches(files.values_list("pk", "size")):
            if last_path and time.monotonic() > ends_at:
                note = f"/{pattern}/ takes long: files after {last_path} were not looked at."
                return CodeSearchResult(tuple(hits), note=note)
            batch = list(files.filter(pk__in=ids).only("path", "language", "text"))
            hits += _match(worker, pattern, batch, limit - len(hits))
            if len(hits) >= limit:
                break
            last_path = batch[-1].path if batch else last_path
    return CodeSearchResult(tuple(hits))


def _cut_batches(sizes: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield the ids of files that are looked at together: texts may be long, or very many."""
    batch: list[int] = []
    total = 0
    for id, size in sizes:
        batch.append(id)
        total += size
        if total >= BATCH_BYTES or len(batch) == BATCH_FILES:
            yield batch
            batch, total = [], 0
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
