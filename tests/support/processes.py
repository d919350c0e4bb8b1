"""Share the tests of a run among processes: python -m pytest --processes 3

All tests are collected once; then processes are forked, each of which takes the next few tests
whenever it has none left. To collect them takes eight seconds, in every process of pytest-xdist.
What a test needs for itself (a database, servers) is made after the fork, in each process.
Tests marked `apart` are taken by processes of their own, beside the others: a browser waits much
of the time. Those marked `early` are taken first and one by one, then the other slow ones, so that
no process is left alone with them.
"""

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from multiprocessing.sharedctypes import Synchronized
from typing import Any

import pytest

AT_MOST = 40
"""Tests to take at once."""
SHARE = 40
"""So often at least a process takes some, for all to end at about the same time."""

ENOUGH = 2**30
"""So many are taken that no more are begun."""
LOOK_AROUND_SECONDS = 0.5
"""After such a silence the processes are looked at: what a test left running can hold the pipe of
one that has died open."""

APART = "apart"
"""The marker of tests that share no process with those without it."""
SLOWEST_FIRST = ({"early"}, {"ci", "scale", "hypothesis"})
"""The markers of tests that take longest, and of others that are slow."""

Batch = list[pytest.Item]
_fork = multiprocessing.get_context("fork")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=1, help="share the tests among so many")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    options = session.config.option
    if options.processes < 2 or options.collectonly or session.testsfailed:
        return None
    _Run(session, list(_queues(session.items, options.processes))).finish()
    return True


def _queues(items: list[pytest.Item], processes: int) -> Iterator["_Queue"]:
    """The tests of one kind in each. Where there are both, those apart have a process less."""
    apart = [item for item in items if item.get_closest_marker(APART)]
    others = [item for item in items if not item.get_closest_marker(APART)]
    fewer = processes - 1 if others else processes
    for tests, share in ((others, processes), (apart, fewer)):
        if tests:
            yield _Queue(list(_batches(tests, share)), share)


def _batches(tests: list[pytest.Item], processes: int) -> Iterator[Batch]:
    """The slowest first. Of tests that are few, few are taken at once."""
    for _haste, kind in groupby(sorted(tests, key=_get_haste), key=_get_haste):
        alike = list(kind)
        size = max(1, min(AT_MOST, len(alike) // (processes * SHARE)))
        for _file, group in groupby(alike, key=lambda item: item.path):
            yield from _cut(list(group), size)


def _cut(tests: list[pytest.Item], size: int) -> Iterator[Batch]:
    """Those that share what is set up once for their file stay together: it is often a server."""
    together = [item for item in tests if _shares(item)]
    if together:
        yield together
    others = [item for item in tests if not _shares(item)]
    for start in range(0, len(others), size):
        yield others[start : start + size]


def _shares(item: pytest.Item) -> bool:
    fixtures = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(fixture.scope == "module" for found in fixtures.values() for fixture in found)


def _get_haste(item: pytest.Item) -> int:
    """How soon a test is begun: 0 is first."""
    own = {marker.name for marker in item.iter_markers()}
    found = (haste for haste, markers in enumerate(SLOWEST_FIRST) if markers & own)
    return next(found, len(SLOWEST_FIRST))


@contextmanager
def _holding_interrupts() -> Iterator[None]:
    """Let an interrupt wait until all processes have started: what is called after a fork would
    swallow it, and a process that is not known yet would not be ended."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Queue:
    """Tests that some processes share, a few of them taken already."""

    def __init__(self, batches: list[Batch], processes: int) -> None:
        self.processes = processes
        self._batches = batches
        self._taken: Synchronized[int] = _fork.Value("i", 0)

    def take(self) -> Iterator[pytest.Item]:
        while True:
            with self._taken:
                number = self._taken.value
                self._taken.value += 1
            if number >= len(self._batches):
                return
            for item in self._batches[number]:
                if self._taken.value >= ENOUGH:
                    return
                yield item

    def end(self) -> None:
        """Let no more tests be begun."""
        self._taken.value = ENOUGH


@dataclass
class _Part:
    """One process, as the one that forked it sees it."""

    process: ForkProcess
    results: "Connection[Any, Any]"
    running: tuple[str, tuple[str, int | None, str]] | None = None
    """The test that has begun and not ended."""


class _Run:
    """The tests of a session, and the processes that run them."""

    def __init__(self, session: pytest.Session, queues: list[_Queue]) -> None:
        self._session = session
        self._queues = queues

    def finish(self) -> None:
        shares = [queue for queue in self._queues for _ in range(queue.processes)]
        parts: list[_Part] = []
        try:
            with _holding_interrupts():
                parts += (self._start(number, queue) for number, queue in enumerate(shares))
            self._listen({part.results: part for part in parts})
        finally:
            self._end()
            for part in parts:
                part.results.close()  # nobody reads it, and to write into a full one takes for ever
            for part in parts:
                part.process.join()

    def _end(self) -> None:
        for queue in self._queues:
            queue.end()

    def _start(self, number: int, queue: _Queue) -> _Part:
        ours, theirs = _fork.Pipe(duplex=False)
        process = _fork.Process(target=self._take_part, args=(number, queue, ours, theirs))
        process.start()
        theirs.close()
        return _Part(process, ours)

    def _listen(self, parts: "dict[Connection[Any, Any], _Part]") -> None:
        """Pass on what the processes report, until all of them have ended."""
        while parts:
            heard = wait(list(parts), LOOK_AROUND_SECONDS)
            for results in heard:
                assert isinstance(results, Connection)
                try:
                    self._hear(parts[results], *results.recv())
                except EOFError:
                    self._bury(parts.pop(results))
            if not heard:
                for part in [each for each in parts.values() if not each.process.is_alive()]:
                    self._bury(parts.pop(part.results))
            if self._session.shouldfail or self._session.shouldstop:
                self._end()
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _hear(self, part: _Part, what: str, *said: Any) -> None:
        config = self._session.config
        if what == "start":
            part.running = (said[0], said[1])
            config.hook.pytest_runtest_logstart(nodeid=said[0], location=said[1])
        else:
            part.running = None
            for data in said[2]:
                report = config.hook.pytest_report_from_serializable(config=config, data=data)
                config.hook.pytest_runtest_logreport(report=report)
            config.hook.pytest_runtest_logfinish(nodeid=said[0], location=said[1])

    def _bury(self, part: _Part) -> None:
        """A process that did not end by itself has failed, in the test that it ran. One that a
        test ended says that all is well."""
        part.process.join()
        if not (code := part.process.exitcode) and part.running is None:
            return
        nodeid, location = part.running or ("the end of a process", ("", None, ""))
        text = f"its process ended with {code}; what else it had taken was not run"
        report = pytest.TestReport(nodeid, location, {}, "failed", text, "call")
        self._session.config.hook.pytest_runtest_logreport(report=report)

    def _take_part(
        self,
        number: int,
        queue: _Queue,
        read_end: "Connection[Any, Any]",
        results: "Connection[Any, Any]",
    ) -> None:
        """Run tests in this process, which ends without what the first one does at the end of a
        session."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        read_end.close()
        config = self._session.config
        _capture_apart(config)
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_Reporter(config, results))
        # As pytest-xdist calls them: pytest-django names a database after it.
        config.workerinput = {"workerid": f"gw{number}"}  # type: ignore[attr-defined]
        try:
            _run_tests(config, queue.take())
        finally:
            self._session._setupstate.teardown_exact(None)
        results.close()
        os._exit(0)


def _run_tests(config: pytest.Config, tests: Iterator[pytest.Item]) -> None:
    item = next(tests, None)
    while item is not None:
        following = next(tests, None)
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


def _capture_apart(config: pytest.Config) -> None:
    """Give this process files of its own for what tests print, in place of those that it shares.
    Loggers that were set up before the fork write to the same streams."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None or config.option.capture != "fd":
        return
    for stream in (capture._global_capturing.out, capture._global_capturing.err):
        with tempfile.TemporaryFile() as own:
            os.dup2(own.fileno(), stream.tmpfile.fileno(), inheritable=False)


class _Reporter:
    """Sends what happens to the process that shows it, once when a test begins and once when it has
    ended: to send each report by itself takes longer than many tests."""

    def __init__(self, config: pytest.Config, results: "Connection[Any, Any]") -> None:
        self._config = config
        self._results = results
        self._reports: list[dict[str, Any]] = []

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._reports = []
        self._results.send(("start", nodeid, location))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._results.send(("finish", nodeid, location, self._reports))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._says_nothing(report):
            return
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def _says_nothing(self, report: pytest.TestReport) -> bool:
        """Whether nobody looks at it: of what goes well around a test, only the time is shown."""
        around = report.passed and report.when != "call" and not report.sections
        return around and self._config.option.durations is None
