"""Run the worker that parses code: send requests, enforce its time limit, restart it.

A grammar may hang and an expression may never end, so both run in a separate process. The worker
limits its own CPU seconds per file; if it sleeps, it is killed from here.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SECONDS_PER_FILE = 2.0
SECONDS_PER_SEARCH = 1.0
WAIT_FACTOR = 5.0
"""How much longer than its time of the processor a worker may take on a busy machine."""
WORKER_COMMAND = (sys.executable, "-m", "agents.code.worker")
_ROOT = Path(__file__).resolve().parents[2]


class WorkerEnded(Exception):
    """The worker took too long or broke. The next request has a new one."""


class _Watchdog:
    """Kills a process that has not been released in time. One thread for all requests."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._guarded: tuple[subprocess.Popen[bytes], float] | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def guard(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._guarded = (process, time.monotonic() + seconds)
        if self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def release(self) -> None:
        self._guarded = None

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _watch(self) -> None:
        while not self._stopped.wait(self._interval):
            guarded = self._guarded
            if guarded is not None and time.monotonic() > guarded[1]:
                guarded[0].kill()


class ParserProcess:
    """A worker that is started when it is first asked, and goes with the `with` block."""

    def __init__(
        self,
        command: Sequence[str] = WORKER_COMMAND,
        *,
        seconds: float = SECONDS_PER_FILE,
        wait_factor: float = WAIT_FACTOR,
    ) -> None:
        self._command = list(command)
        self._seconds = seconds
        self._wait_factor = wait_factor
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog = _Watchdog(interval=min(0.25, seconds * wait_factor / 4))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
        self._watchdog.stop()

    def parse(self, grammar: str, data: bytes) -> tuple[list[list[Any]], str, str]:
        """Return the definitions of a file, and its uses and imports as JSON.

        Raise WorkerEnded if it cannot be parsed.
        """
        symbols, references, imports = self._ask({"grammar": grammar}, data).split(b"\t")
        return json.loads(symbols), references.decode(), imports.decode()

    def match_lines(self, pattern: str, texts: Sequence[str], limit: int) -> list[list[int]]:
        """Return which texts have a line that fits an expression, and the first such line of each.

        Raise ValueError if it is no expression, and WorkerEnded if it takes too long.
        """
        encoded = [text.encode() for text in texts]
        request = {"pattern": pattern, "limit": limit, "sizes": list(map(len, encoded))}
        matches, error = map(json.loads, self._ask(request, b"".join(encoded)).split(b"\t"))
        if error:
            raise ValueError(error)
        found: list[list[int]] = matches
        return found

    def _ask(self, request: dict[str, Any], data: bytes) -> bytes:
        process = self._start()
        line = json.dumps({**request, "size": len(data), "seconds": self._seconds}).encode()
        self._watchdog.guard(process, self._seconds * self._wait_factor)
        try:
            answer = self._exchange(process, b"".join((line, b"\n", data)))
        finally:
            self._watchdog.release()
        if not answer.endswith(b"\n"):
            self.end()
            raise WorkerEnded(f"took longer than {self._seconds:g} seconds, or broke the parser")
        return answer.removesuffix(b"\n")

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> bytes:
        if process.stdin is None or process.stdout is None:
            raise AssertionError("started with pipes")
        try:
            process.stdin.write(request)
            process.stdin.flush()
            return process.stdout.readline()
        except BrokenPipeError:
            return b""

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        return self._process

    def end(self) -> None:
        """End the worker, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        process.wait()
