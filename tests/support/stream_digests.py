"""What randomised runs say, as one digest a run: to tell whether a change has changed a letter.

    python -m tests.support.stream_digests 10000 > tests/data/stream_digests.txt

writes those of the code as it is. What may be added to streams without changing what is said is
left out: chunks that only record events, numbers of chunks, and fields that came later.
"""

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.core.chunks import OracleStreamChunk
from agents.core.chunks.wire import to_dict
from tests.support.scenarios import Verdict, play
from tests.support.virtual import run_virtual

RECORDED = Path(__file__).resolve().parents[1] / "data" / "stream_digests.txt"
_ADDED_CHUNKS = frozenset({"event"})
_ADDED_FIELDS = frozenset(
    {"seq", "path", "interim", "cause", "events", "failure", "answers", "pattern"}
)
_LENGTH = 8


@dataclass(frozen=True)
class PlayedRun:
    """What is thought of a scenario that was played, and everything that it said."""

    verdict: Verdict
    chunks: list[OracleStreamChunk]

    def digest(self) -> str:
        kept = [_strip(to_dict(chunk)) for chunk in self.chunks if chunk.type not in _ADDED_CHUNKS]
        text = json.dumps(kept, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def play_run(seed: int) -> PlayedRun:
    chunks: list[OracleStreamChunk] = []
    return PlayedRun(run_virtual(play(seed, chunks), thread_grace=0.002), chunks)


def _strip(data: dict[str, Any]) -> dict[str, Any]:
    about = {name: value for name, value in data.get("metadata", {}).items() if name != "event"}
    kept = {name: value for name, value in data.items() if name not in _ADDED_FIELDS}
    return {**kept, "metadata": about} if "metadata" in data else kept


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        print(play_run(number).digest())
