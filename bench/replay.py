"""`python -m bench.replay`: recorded turns that the replay plays in a second of CPU.

The recorded runs lie beside a developer's checkout; without them there is nothing to play.
"""

import gzip
import json
import statistics
import sys
import time
from pathlib import Path

import agents.core.decisions.trees  # noqa: F401  # registers the trees
from agents.core.replay.engine import from_trace, replay

TRACES = Path(__file__).resolve().parents[2] / "shared" / "traces" / "dev.jsonl.gz"
ROUNDS = 5
LIMITS = {"max_iterations": 50}
"""As loose as can be, so that nearly every recorded turn is played."""


def main() -> int:
    if not TRACES.exists():
        print("replay: skipped, the recorded runs are not there")
        return 0
    with gzip.open(TRACES, "rt") as lines:
        recordings = [from_trace(json.loads(line)) for line in lines]
    speeds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        played = sum(replay(recording, limits=LIMITS).turn or 0 for recording in recordings)
        speeds.append(played / (time.process_time() - began))
    print(f"replay: {statistics.median(speeds):,.0f} recorded turns a second ({played:,} played)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
