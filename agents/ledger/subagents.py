"""Which subagents of a run did not finish: what they wrote is not kept.

A subagent has finished when the call that started it has a result, which is ok and does not say
otherwise: a call may do without its subagent. Whatever else becomes of the call (cut, failed, never
answered), its work is unfinished, and so is the work of subagents that it started itself.
"""

from agents.core.chunks import Done, OracleStreamChunk, ToolResult, qualify_call_id


class SubagentTracker:
    """Follows the chunks of a run, and tells whose words are to be erased."""

    def __init__(self) -> None:
        self._written: set[str] = set()
        """The calls whose subagents have written something."""
        self._finished: set[str] = set()
        self._unfinished: set[str] = set()
        self._due: dict[str, None] = {}

    def add(self, chunk: OracleStreamChunk) -> None:
        if chunk.parent:
            self._written.add(chunk.parent)
            if any(_is_within(chunk.parent, call) for call in self._unfinished):
                self._due[chunk.parent] = None  # it goes on although its call has ended
        if isinstance(chunk, ToolResult):
            call = qualify_call_id(chunk.parent, chunk.tool_call_id)
            if chunk.has_finished:
                self._finished.add(call)
            else:
                self._drop(call)
        elif isinstance(chunk, Done) and not chunk.parent:
            for call in self._written - self._finished:
                self._drop(call)

    def pop_unfinished(self) -> list[str]:
        """Return the calls whose subagents turned out not to finish, since the last call."""
        due, self._due = self._due, {}
        return list(due)

    def _drop(self, call: str) -> None:
        self._unfinished.add(call)
        self._due |= dict.fromkeys(sorted(c for c in self._written if _is_within(c, call)))


def _is_within(call: str, outer: str) -> bool:
    """Return whether a call is this one, or was made by a subagent below it."""
    return call == outer or call.startswith(qualify_call_id(outer, ""))
