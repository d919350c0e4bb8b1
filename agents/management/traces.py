"""Files of recorded runs: one JSON object a line, as they are or gzipped."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from agents.core.progress import StuckRules
from agents.core.recording import BadTrace, Recording, from_trace
from agents.core.scoring import Labelled, labelled

_NAMED = 5
"""Bad lines that are told of; the rest are counted."""


def read_traces(path: Path, rules: StuckRules) -> list[tuple[Recording, Labelled]]:
    """The runs of a file, each with its label. All of it is read before bad lines are told of."""
    runs: list[tuple[Recording, Labelled]] = []
    bad: list[str] = []
    for number, line in _lines(path):
        try:
            run = _parsed(line)
            recording = from_trace(run)
            runs.append((recording, labelled(run, recording, rules)))
        except BadTrace as error:
            bad.append(f"line {number}: {error}")
    if bad:
        more = f"; and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
        raise CommandError(f"{path} has lines that are no runs. {'; '.join(bad[:_NAMED])}{more}.")
    if not runs:
        raise CommandError(f"{path} holds no runs.")
    return runs


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
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


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadTrace(f"not JSON ({error})") from None
