"""Another behaviour in the place of a run's own: the recording as it would be read then.

A rehearsal says how far the behaviour goes along and where it ends or parts; the checkpoints
between those turns are then replayed like any other.
"""

from dataclasses import replace

from agents.core.behaviours.rehearsal import NOT_RECORDED, Rehearsal
from agents.core.chunks import Turn
from agents.core.decisions.endings import PROVIDER_ERROR
from agents.core.replay.recording import CheckpointState, RecordedTurn, Recording


def apply_rehearsal(recording: Recording, found: Rehearsal) -> Recording:
    """Return a recording with what the rehearsed behaviour asks for at each checkpoint.

    What it calls its texts decides whether one of them completes the run. The turn that it parts
    at says so: the checkpoint before it may end the run anyway.
    """
    steps, taken = [], 0
    for step in recording.steps:
        if step.turn.wrap_up is None:
            step, taken = _apply_turn(step, found, taken), taken + has_request(step.turn)
        steps.append(step)
    start = recording.start and _apply_end(recording.start, found, 0)
    return replace(recording, start=start, steps=tuple(steps))


def _apply_turn(step: RecordedTurn, found: Rehearsal, before: int) -> RecordedTurn:
    """Return a turn after so many with a request."""
    if before > found.turns:
        return step
    turn, why = step.turn, found.why_unknown if before == found.turns else ""
    if why == NOT_RECORDED and not step.used:
        why = ""  # the model failed in it, as it would have
    elif before < found.turns and has_request(turn):
        turn = replace(turn, interim=found.interims[before])
        if step.after is None and turn.finish_reason == "error" and found.reason != PROVIDER_ERROR:
            why = found.why_unknown or NOT_RECORDED  # it does something else, where the run ended
    after = step.after and _apply_end(step.after, found, before + has_request(turn))
    return replace(step, turn=turn, after=after, why_unknown=why)


def has_request(turn: Turn) -> bool:
    """Return whether a recorded turn had a request that was answered, or that failed for good."""
    return turn.answered or turn.finish_reason == "error"


def _apply_end(seen: CheckpointState, found: Rehearsal, taken: int) -> CheckpointState:
    is_end = taken == found.turns and bool(found.reason)
    asked_end = found.reason if is_end else None
    return replace(seen, asked_end=asked_end, has_branches=not is_end)
