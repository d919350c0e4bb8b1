"""The home of runs: starts them, owns their tasks, cancels, settles what others left behind.

The only place that builds the outside world of a run. Closing a tab, a socket or a reader does not
end a run: its task belongs to the runtime of the process that accepted it.
"""

from agents.runtime.requests import RunFactory, RunRefused, RunRequest
from agents.runtime.runtime import Runtime

__all__ = ["RunFactory", "RunRefused", "RunRequest", "Runtime"]
