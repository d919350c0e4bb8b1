"""`python -m tests.faults`: every scenario, one line of figures each; exits 1 if a bound broke."""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

from tests.faults import (
    approvals,
    cancel,
    fencing,
    hints,
    idempotence,
    kill,
    leases,
    locked,
    postgres_restart,
    reconnect,
    reminders,
    sigterm,
    subagent,
    summary,
)
from tests.faults.figures import Figures
from tests.faults.site import Bench
from tests.support.services import Missing, Postgres, Redis
from tests.support.template import migrated_postgres

Play = Callable[[Bench, random.Random, int], Coroutine[Any, Any, Figures]]

BOTH: dict[str, tuple[Play, int]] = {
    "kill": (kill.play, 200),
    "reconnect": (reconnect.play, 500),
    "idempotence": (idempotence.play, 10),
    "fencing": (fencing.play, 10),
    "cancel": (cancel.play, 200),
    "sigterm": (sigterm.play, 4),
    "subagent": (subagent.play, 40),
    "summary": (summary.play, 20),
    "reminders": (reminders.play, 40),
    "approvals": (approvals.play, 200),
}
"""By name: how it is played, and how many rounds are the full number."""
SQLITE = {**BOTH, "locked": (locked.play, len(locked.LOCKS))}
SCALE = {
    **BOTH,
    "idle": (hints.idle, 1),
    "hints": (hints.play, 5),
    "redis-lost": (hints.lost, 5),
    "away": (postgres_restart.play, 5),
    "leases": (leases.play, len(leases.CASES)),
}


def main() -> int:
    options = _options()
    scenarios = SCALE if options.scale else SQLITE
    unknown = set(options.only or ()) - set(scenarios)
    if unknown:
        print(f"no such scenario here: {', '.join(sorted(unknown))}; known: {', '.join(scenarios)}")
        return 2
    with ExitStack() as closing:
        try:
            services = _services(closing) if options.scale else ()
        except Missing as missing:
            print(f"skipped on PostgreSQL and Redis: {missing}")
            return 0
        bench = closing.enter_context(Bench(*services))
        print(f"on {bench.name}, seed {options.seed}", flush=True)
        ok = [_played(bench, *scenarios[name], options) for name in options.only or scenarios]
    return 0 if all(ok) else 1


def _played(bench: Bench, play: Play, rounds: int, options: argparse.Namespace) -> bool:
    began = time.monotonic()
    figures = asyncio.run(play(bench, random.Random(options.seed), options.rounds or rounds))
    print(f"{figures.line()} ({time.monotonic() - began:.0f} s)", flush=True)
    if figures.broken:
        print(f"the servers said at last:\n{bench.said[-4000:]}", flush=True)
    return not figures.broken


def _services(closing: ExitStack) -> tuple[Postgres, Redis]:
    return closing.enter_context(migrated_postgres()), closing.enter_context(Redis())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these scenarios")
    parser.add_argument("--rounds", type=int, help="instead of each scenario's full number")
    parser.add_argument("--scale", action="store_true", help="on PostgreSQL and Redis")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
