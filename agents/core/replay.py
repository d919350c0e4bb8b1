"""What would have happened: a recorded run under other limits, another tree, other stuck rules.

The recorded turns are played through the code that decides for the loop (`deciding`, the trees,
`AgentState.after_turn`); no model is asked. So it answers what the rules would have said of the
turns that were made. It does not know what the model would have done instead: where a run would
have gone on beyond its record, or on another way, the answer is that this is not known.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from agents.core.chunks import Turn
from agents.core.config import AgentConfig
from agents.core.context import GRACE_SECONDS
from agents.core.deciding import WRAP_UP, begun, decide, last_turn_reason
from agents.core.decision import TREES
from agents.core.guard import TreeGuard
from agents.core.progress import SHIPPED, StuckRules, Track
from agents.core.reasons import REASONS, Outcome
from agents.core.recording import MEASURED, Recorded, Recording, Seen, from_trace, tokens_of
from agents.core.rules import told
from agents.core.state import AgentState
from agents.core.tokens import HISTORY_SHARE, MIN_ANSWER, RESULT_SHARE
from agents.core.verdicts import Kind, Summary, Verdict, summary

__all__ = ["Recording", "Summary", "Verdict", "from_trace", "replay", "summary"]

NOT_RECORDED = "The run ended there: what it would have done next was not recorded."
NOT_ENDED = "The run has not ended yet."
NO_CONTENT = "This tree looks at the results of tools, and those of this run are not kept."
LESS_USED = "With so small a budget, history and results would have been cut, and less been used."
_NO_LIMITS: Mapping[str, int] = {}
_ROOM = ("max_iterations", "token_budget", "timeout_seconds")
"""The limits that a wrap-up has to fit into."""


def replay(
    recording: Recording,
    *,
    limits: Mapping[str, int] = _NO_LIMITS,
    tree: str | None = None,
    stuck: StuckRules | None = None,
) -> Verdict:
    """Play a run again with what is given changed. `limits` are fields of AgentConfig.

    Raises ConfigError for limits out of bounds and UnknownName for a `tree` that there is not.
    """
    if tree is not None:
        TREES.get(tree)
    if recording.damage:
        return _verdict(recording, "unknown", why_unknown=recording.damage)
    if tree is None and recording.tree not in TREES:
        gone = f"There is no tree {recording.tree!r} any more."
        return _verdict(recording, "unknown", why_unknown=gone)
    return _Replay(recording, limits, tree, stuck or SHIPPED).verdict()


def _verdict(recording: Recording, kind: Kind, **values: Any) -> Verdict:
    return Verdict(
        id=recording.id,
        kind=kind,
        old_reason=recording.reason,
        old_turn=recording.turns,
        old_tokens=recording.tokens,
        not_applied=MEASURED - recording.measured,
        **values,
    )


class _Replay:
    """One recording being played; `state` is as the loop would have it."""

    def __init__(
        self, recording: Recording, limits: Mapping[str, int], tree: str | None, stuck: StuckRules
    ) -> None:
        self.recording = recording
        self.old = recording.config
        self.has_other_tree = tree is not None and tree != recording.tree
        wanted = AgentConfig.build(limits, self.old) if limits else self.old
        cls = TREES.get(tree or recording.tree)
        self.guard = TreeGuard(cls(wanted), wanted)  # type: ignore[call-arg]
        config = self.guard.config
        if not self.has_other_tree:  # what its tree had tightened is not tightened again
            changed = {name: getattr(config, name) for name in limits}
            config = self.old.model_copy(update=changed) if changed else self.old
        self.state = AgentState(
            user_id="",
            project_id="",
            config=config,
            track=Track(rules=stuck),
            context_window=recording.context_window,
        )
        start = recording.start or Seen()
        self.may_be_cut = self._has_less_budget and (
            start.last_request > HISTORY_SHARE * self.state.token_limit
        )
        """Whether history or results would have been cut, and so fewer tokens used."""
        self.has_calls = False
        self.cut_answer = 0
        """What a wrap-up would take if the results of the last turn were cut to make room."""

    @property
    def _has_less_budget(self) -> bool:
        return self.state.token_limit < self.old.token_budget

    def verdict(self) -> Verdict:
        seen, checkpoint = self.recording.start, "start"
        steps = iter(self.recording.steps)
        while seen is not None:
            self.state = state = self._at(seen)
            goes_on, reason = decide(self.guard, state, checkpoint)
            fits = partial(self._answer_fits, seen)
            wrap_up = last_turn_reason(state, checkpoint, goes_on, reason, fits)
            step = next(steps, None)
            if not goes_on and wrap_up is None:
                if step is None and reason == seen.reason:
                    return self._as_recorded()  # whatever came between the decision and the end
                return self._ended(reason)
            if step is None or (wrap_up is None) != (step.turn.wrap_up is None):
                return self._beyond(seen, step, wrap_up)
            self._begin(wrap_up)
            if wrap_up is None and (found := self._untold(step)):
                return found
            seen = self._play(step, seen, wrap_up)
            checkpoint = WRAP_UP if wrap_up else "turn"
        return self._as_recorded()

    def _at(self, seen: Seen) -> AgentState:
        state = self.state
        return state.changed(
            now=seen.elapsed,
            cancelled=seen.cancelled,
            context_tokens=seen.context_tokens,
            next_request=seen.last_request if state.turns_left <= 1 else seen.next_request,
        )

    def _answer_fits(self, seen: Seen) -> bool:
        """Whether there is room for a wrap-up. Where the recorded run stopped as well, it knew."""
        state, old, new = self.state, self.old, self.state.config
        needed = min(seen.last_request, self.cut_answer or seen.last_request)
        in_tokens = needed <= min(state.tokens_left, state.context_window or needed)
        in_time = state.elapsed_seconds < state.time_limit - GRACE_SECONDS
        if seen.wrapped:
            in_tokens = in_tokens or new.token_budget >= old.token_budget
            in_time = in_time or new.timeout_seconds >= old.timeout_seconds
        elif seen.reason in REASONS and REASONS.get(seen.reason).wraps_up:
            grown = (name for name in _ROOM if getattr(new, name) > getattr(old, name))
            if not any(grown):
                return False
        return state.turns_left >= 1 and in_tokens and in_time

    def _answer_tokens(self, seen: Seen) -> int:
        """What a wrap-up was forecast to take; after calls it shows the tools if they fit."""
        state, with_tools = self.state, seen.context_tokens + MIN_ANSWER
        fits = with_tools <= min(state.tokens_left, state.context_window or with_tools)
        return with_tools if self.has_calls and fits else seen.last_request

    # -- one turn ---------------------------------------------------------------------------------

    def _begin(self, wrap_up: str | None) -> None:
        """Ask the tree, and take everything that is due for told.

        The default tree asks for all that is due, so nothing else can be.
        """
        state = begun(self.guard, self.state, wrap_up)
        is_told = not state.notices and not self.guard.has_own("on_turn_start")
        self.state = state if is_told else told(state)

    def _play(self, step: Recorded, seen: Seen, wrap_up: str | None) -> Seen | None:
        """Fold a recorded turn into the state; what the checkpoint after it sees."""
        if self.guard.has_own("on_tool_result"):
            for result in step.results:
                self.state = self.guard.on_tool_result(self.state, result)
        turn, after = self._shortened(step, seen)
        if turn.wrap_up != wrap_up:
            turn = replace(turn, wrap_up=wrap_up)
        if step.used and self._has_less_budget:
            self.cut_answer = without = seen.last_request + turn.completion_tokens
            results = after.last_request - without if after is not None else 0
            if results > RESULT_SHARE * self.state.token_limit:
                self.may_be_cut = True
        self.has_calls = self.has_calls or bool(step.used or step.refused)
        self.state = self.state.after_turn(turn)
        return after

    def _shortened(self, step: Recorded, before: Seen) -> tuple[Turn, Seen | None]:
        """A turn as tighter limits would have left it: its answer or its tools cut."""
        state, old, turn, after = self.state, self.old, step.turn, step.after
        if (
            self._has_less_budget
            and turn.finish_reason == "stop"
            and state.tokens_used + tokens_of(turn) > state.token_limit
        ):
            turn = replace(turn, finish_reason="budget")
        if state.time_limit < old.timeout_seconds:
            answered_at = before.elapsed + turn.model_ms / 1000
            if answered_at >= state.time_limit:
                cut_at = replace(before, elapsed=state.time_limit, reason="", wrapped=False)
                return replace(turn, finish_reason="cut", action=""), cut_at
            over_at = max(answered_at, state.working_seconds)
            if after is not None and after.elapsed > over_at:
                after = replace(after, elapsed=over_at, cancelled=False)
        return turn, after

    def _untold(self, step: Recorded) -> Verdict | None:
        """The verdict when this turn would not have been, or not have stayed, as recorded."""
        if step.used and not self.recording.has_content and self.guard.has_own("on_tool_result"):
            return self._unknown(NO_CONTENT)
        if step.used or step.refused:
            new, old = self.state.config, self.old
            withheld, cap = self.state.withheld_tools, new.max_tool_calls_per_turn
            if gone := withheld.intersection(step.used):
                return self._unknown(f"It used {min(gone)}, which this tree withholds.")
            if len(step.used) > cap < old.max_tool_calls_per_turn:
                return self._unknown(f"It made {len(step.used)} calls in one turn.")
            looser = self.has_other_tree or cap > old.max_tool_calls_per_turn
            if looser and (more := step.refused - withheld):
                return self._unknown(f"A call of {min(more)} was refused, and would not have been.")
        return self._gone_on() if self._was_shaped(step) else None

    def _was_shaped(self, step: Recorded) -> bool:
        """Whether a limit that is looser now had cut this turn."""
        state, old, turn, after = self.state, self.old, step.turn, step.after
        if after is None or after.cancelled:
            return False
        if turn.finish_reason == "budget" and state.token_limit > old.token_budget:
            return True
        was_timed_out = state.time_limit > old.timeout_seconds and after.reason == "timeout"
        return was_timed_out and (turn.finish_reason == "cut" or bool(turn.action))

    # -- endings ----------------------------------------------------------------------------------

    def _beyond(self, seen: Seen, step: Recorded | None, wrap_up: str | None) -> Verdict:
        """The run would have left its record here: for one last answer, or for what nobody knows.

        What happened to it from outside in the turn that follows happens all the same.
        """
        if step is None and (not seen.reason or (wrap_up and seen.wrapped)):
            return self._as_recorded()
        if wrap_up is None:
            return self._gone_on()
        if step is not None and (step.after is None or step.after.cancelled):
            if self.recording.reason != "provider_error" or self.state.turn == 0:
                return self._as_recorded()
            failed = replace(step.turn, wrap_up=wrap_up, action="")
            self.state = self.state.after_turn(failed)
            return self._ended(wrap_up)
        answer = Turn(
            number=self.state.turn + 1,
            phase="end",
            wrap_up=wrap_up,
            answered=True,
            prompt_tokens=self._answer_tokens(seen),
            usage_source="estimate",
            finish_reason="stop",
        )
        self.state = begun(self.guard, self.state, wrap_up).after_turn(answer)
        return self._ended(decide(self.guard, self.state, WRAP_UP)[1])

    def _ended(self, reason: str) -> Verdict:
        if reason == "token_budget" and self.may_be_cut:
            return self._unknown(LESS_USED)
        recording, turn = self.recording, self.state.turn
        turns = recording.turns
        kind: Kind = "same" if reason == recording.reason else "other"
        if turn != turns or not recording.reason:
            kind = "later" if recording.reason and turn > turns else "earlier"
        return _verdict(
            recording,
            kind,
            reason=reason,
            turn=turn,
            turns_saved=turns - turn,
            tokens_saved=recording.tokens - self.state.tokens_used,
            was_cut=recording.outcome == Outcome.COMPLETED.value
            and REASONS.get(reason).outcome is not Outcome.COMPLETED,
        )

    def _as_recorded(self) -> Verdict:
        recording = self.recording
        if not recording.reason:
            return self._unknown(NOT_ENDED)
        return _verdict(self.recording, "same", reason=recording.reason, turn=recording.turns)

    def _gone_on(self) -> Verdict:
        return _verdict(self.recording, "later", why_unknown=NOT_RECORDED)

    def _unknown(self, why: str) -> Verdict:
        return _verdict(self.recording, "unknown", why_unknown=why)
