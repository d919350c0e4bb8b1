"""Why a turn may not have been made as it was recorded: another tree, or another cap on calls."""

from agents.core.decisions.guard import TreeGuard
from agents.core.replay.recording import RecordedTurn, Recording
from agents.core.state import AgentState

NO_CONTENT = "This tree looks at the results of tools, and those of this run are not kept."


def explain_divergence(
    step: RecordedTurn,
    recording: Recording,
    guard: TreeGuard,
    state: AgentState,
    *,
    has_other_tree: bool,
) -> str:
    """Return why it is not known what this turn would have been; empty if it is as recorded."""
    if step.why_unknown:
        return step.why_unknown
    if step.used and not recording.has_content and guard.overrides("on_tool_result"):
        return NO_CONTENT
    withheld, cap = state.withheld_tools, state.config.max_tool_calls_per_turn
    old_cap = recording.config.max_tool_calls_per_turn
    if gone := withheld.intersection(step.used):
        return f"It used {min(gone)}, which this tree withholds."
    if len(step.used) > cap < old_cap:
        return f"It made {len(step.used)} calls in one iteration."
    is_looser = has_other_tree or cap > old_cap
    if is_looser and (more := step.refused - withheld):
        return f"A call of {min(more)} was refused that would have been run."
    return ""
