"""Store the chunks of runs as rows, and read them back: only rows are ever shown.

`writer` commits the new events of all runs of a process together (`queries`), `reader` follows runs
by cursor (`pages`; `recent` has what was stored a moment ago); `stored_events` reads whole runs
back, `hints` tells other processes that there is something to read, `subagents` finds whose words
are not kept. `leases` keeps the row by which a process owns its runs.
"""

from agents.ledger.db_errors import LOCKED, NO_ANSWER, describe_database_error
from agents.ledger.db_executor import DatabaseExecutor
from agents.ledger.hints import HintBroadcaster
from agents.ledger.leases import HeldLease, is_silent, read_leases
from agents.ledger.pages import ChunkPage, iter_pages
from agents.ledger.queries import Claim, Commit, FinalValues, checkpoint_wal, write
from agents.ledger.reader import Reader
from agents.ledger.stored_events import (
    decode_row,
    decode_undamaged,
    load_chunks,
    load_chunks_of_runs,
    load_notices_of_runs,
    load_rows_of_runs,
    load_run_record,
    query_events,
)
from agents.ledger.subagents import SubagentTracker
from agents.ledger.writer import LedgerClosed, OwnedRun, Writer

__all__ = [
    "LOCKED",
    "NO_ANSWER",
    "ChunkPage",
    "Claim",
    "Commit",
    "DatabaseExecutor",
    "FinalValues",
    "HeldLease",
    "HintBroadcaster",
    "LedgerClosed",
    "OwnedRun",
    "Reader",
    "SubagentTracker",
    "Writer",
    "checkpoint_wal",
    "decode_row",
    "decode_undamaged",
    "describe_database_error",
    "is_silent",
    "iter_pages",
    "load_chunks",
    "load_chunks_of_runs",
    "load_notices_of_runs",
    "load_rows_of_runs",
    "load_run_record",
    "query_events",
    "read_leases",
    "write",
]
