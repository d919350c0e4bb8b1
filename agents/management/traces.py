"""Files of recorded runs: one JSON object a line, as they are or gzipped."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from agents.core.replay.evaluation import LabelledRun, build_labelled_run
from agents.core.replay.recording import InvalidTrace, Recording, from_trace
from agents.core.stuck import StuckRules

_MAX_LISTED = 5
"""Bad lines that are told of; the rest are counted."""


def read_traces(path: Path, rules: StuckRules) -> list[tuple[Recording, LabelledRun]]:
    """Return the runs of a file, each with its label. Bad lines are told of at the end."""
    runs: list[tuple[Recording, LabelledRun]] = []
    bad: list[str] = []
    for number, line in _iter_lines(path):
        try:
            run = _parse_line(line)
            recording = from_trace(run)
            runs.append((recording, build_labelled_run(run, recording, rules)))
        except InvalidTrace as error:
            bad.append(f"line {number}: {error}")
    if bad:
        more = f"; and {len(bad) - _MAX_LISTED:,} more" if len(bad) > _MAX_LISTED else ""
        raise CommandError(
            f"{path} has lines that are not runs. {'; '.join(bad[:_MAX_LISTED])}{more}."
        )
    if not runs:
        raise CommandError(f"{path} holds no runs.")
    return runs


def _iter_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except EOFError:
        raise CommandError(f"{path} is cut off: its end is missing.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not text in UTF-8.") from None
    except zlib.error as error:
        raise CommandError(f"{path} cannot be unpacked: {error}.") from None
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from None


def _parse_line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidTrace(f"not JSON ({error})") from None
