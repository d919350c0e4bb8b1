"""`python -m agents.code.worker`: requests on standard input, a line of JSON for each as answer.

A request is a line of JSON, whose `size` says how many bytes of code follow it. The three parts of
a parsed file have a tab between them, so that who asked need not read what it only stores.
"""

import contextlib
import gc
import json
import os
import resource
import signal
import sys
from typing import IO, Any

from agents.code.worker.line_matches import match_lines

NICENESS = 10
MAX_MEMORY = 1024 * 1024 * 1024


def main() -> None:
    limit_resources()
    gc.disable()  # nothing here goes round in circles, and looking for it takes a third of the time
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        request = json.loads(line)
        answer = handle(request, read_exactly(requests, request["size"]))
        answers.write(b"\t".join(map(encode, answer)) + b"\n")
        answers.flush()


def limit_resources() -> None:
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # No handler: parsers do not return to Python, so the system itself ends what takes too long.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


def encode(part: object) -> bytes:
    return json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode()


def handle(request: dict[str, Any], data: bytes) -> list[Any]:
    """Return the parts of the answer, within so many seconds of the processor."""
    signal.setitimer(signal.ITIMER_PROF, request["seconds"])
    try:
        if "pattern" in request:
            return find_matches(request, data)
        from agents.code.worker.extraction import extract  # expressions need no grammar

        found = extract(data, request["grammar"])
        return [found["symbols"], found["references"], found["imports"]]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def find_matches(request: dict[str, Any], data: bytes) -> list[Any]:
    """Return what fits an expression, and what is wrong with it if it is none."""
    texts, start = [], 0
    for size in request["sizes"]:
        texts.append(data[start : start + size].decode())
        start += size
    try:
        return [match_lines(request["pattern"], texts, request["limit"]), ""]
    except ValueError as error:
        return [[], str(error)]


def read_exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        sys.exit(0)  # whoever asked is gone
    return data


if __name__ == "__main__":
    main()
