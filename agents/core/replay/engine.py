"""Replay a recorded run under other limits, another tree, other stuck rules.

The recorded turns are played through the code that decides for the loop (`checkpoint`, the trees,
`AgentState.after_turn`); no model is asked. So it answers what the rules would have said of the
turns that were made. It does not know what the model would have done instead: where a run would
have gone on beyond its record, or on another way, the answer is that this is not known.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from agents.core.chunks import Turn
from agents.core.config import AgentConfig
from agents.core.decisions import TREES, build_guard
from agents.core.decisions.checkpoint import WRAP_UP, decide, start_turn_state, wrap_up_reason
from agents.core.decisions.endings import PROVIDER_ERROR, RULE_STOPPED, TIMEOUT
from agents.core.decisions.warnings import mark_notices_given
from agents.core.loop import GRACE_SECONDS
from agents.core.reasons import REASONS, Outcome
from agents.core.replay.divergence import explain_divergence
from agents.core.replay.recording import (
    CheckpointState,
    RecordedTurn,
    Recording,
    apply_tighter_limits,
    from_trace,
    turn_tokens,
    was_cut_by_limit,
)
from agents.core.replay.result import Summary, Verdict, VerdictKind, build_verdict, summarize
from agents.core.state import AgentState, RuleStop
from agents.core.stuck import DEFAULT_STUCK_RULES, ProgressTracker, StuckRules
from agents.core.tokens import (
    FORECAST_TURNS,
    MAX_HISTORY_SHARE,
    MAX_RESULT_SHARE,
    MIN_ANSWER_TOKENS,
    TURN_TOKENS,
    forecast_further_turn,
)

__all__ = ["Recording", "Summary", "Verdict", "from_trace", "replay", "summarize"]

NOT_RECORDED = "The run ended there: what it would have done next was not recorded."
NOT_ENDED = "The run has not ended yet."
LESS_USED = "With such a small budget, history and results would have been cut, and less used."
NEARLY_SPENT = "It would have been warned about tokens, with so few left that the warning decides."
HINT_TOKENS = 60
"""What a warning to the model takes of each request after it, at the most."""
_UNAFFECTED_BY_TOKENS = frozenset({"user_cancelled", "completed", "max_iterations", "token_budget"})
"""Reasons that hold whether the tokens are spent or not."""
_NO_LIMITS: Mapping[str, int] = {}
_WRAP_UP_LIMITS = ("max_iterations", "token_budget", "timeout_seconds")
"""The limits that a wrap-up has to fit into."""


def replay(
    recording: Recording,
    *,
    limits: Mapping[str, int] = _NO_LIMITS,
    tree: str | None = None,
    stuck: StuckRules | None = None,
) -> Verdict:
    """Play a run again with what is given changed. `limits` are fields of AgentConfig.

    Raises ConfigError for limits out of bounds and NotRegistered for a `tree` that there is not.
    """
    if tree is not None:
        TREES.get(tree)
    if recording.damage:
        return build_verdict(recording, "unknown", why_unknown=recording.damage)
    if tree is None and recording.tree not in TREES:
        gone = f"There is no tree {recording.tree!r} any more."
        return build_verdict(recording, "unknown", why_unknown=gone)
    return _Replay(recording, limits, tree, stuck or DEFAULT_STUCK_RULES).run()


class _Replay:
    """One recording being played; `state` is as the loop would have it."""

    def __init__(
        self, recording: Recording, limits: Mapping[str, int], tree: str | None, stuck: StuckRules
    ) -> None:
        self.recording = recording
        self.old = recording.config
        self.has_other_tree = tree is not None and tree != recording.tree
        wanted = AgentConfig.build(limits, self.old) if limits else self.old
        self.guard = build_guard(tree or recording.tree, wanted)
        config = self.guard.config
        if not self.has_other_tree:  # what its tree had tightened is not tightened again
            changed = {name: getattr(config, name) for name in limits}
            config = self.old.model_copy(update=changed) if changed else self.old
        self.state = AgentState(
            user_id="",
            project_id="",
            config=config,
            start_time=0.0,
            now=0.0,
            progress=ProgressTracker(rules=stuck),
            context_window=recording.context_window,
        )
        start = recording.start or CheckpointState()
        self.may_be_cut = self._has_less_budget and (
            start.last_request > MAX_HISTORY_SHARE * self.state.token_limit
        )
        """Whether history or results would have been cut, and so fewer tokens used."""
        self.growth: deque[tuple[int, int]] = deque(maxlen=FORECAST_TURNS)
        self.warned_requests = 0
        """Requests with a token warning in them that the recorded ones did not have."""
        self.has_calls = False
        self.cut_answer = 0
        """What a wrap-up would take if the results of the last turn were cut to make room."""

    @property
    def _has_less_budget(self) -> bool:
        return self.state.token_limit < self.old.token_budget

    def _is_nearly_spent(self, reason: str) -> bool:
        """Return whether a warning that was not recorded may have used the last tokens."""
        state, requests = self.state, self.warned_requests
        if not requests or reason in _UNAFFECTED_BY_TOKENS:
            return False
        more = HINT_TOKENS * (requests + 2)  # also in both requests of the forecast
        return state.tokens_used + state.next_request + more > state.token_limit

    def run(self) -> Verdict:
        seen, checkpoint = self.recording.start, "start"
        steps = iter(self.recording.steps)
        while seen is not None:
            self.state = state = self._state_at(seen)
            goes_on, reason = decide(self.guard, state, checkpoint)
            fits = partial(self._wrap_up_fits, seen)
            wrap_up = wrap_up_reason(state, checkpoint, goes_on, reason, fits)
            step = next(steps, None)
            if checkpoint != WRAP_UP and self._is_nearly_spent(reason):
                return self._verdict_unknown(NEARLY_SPENT)
            if not goes_on and wrap_up is None:
                if step is None and reason == seen.reason:
                    # whatever came between the decision and the end
                    return self._verdict_as_recorded()
                return self._verdict_ended(reason)
            if step is None or (wrap_up is None) != (step.turn.wrap_up is None):
                return self._leave_record(seen, step, wrap_up)
            self._begin_turn(wrap_up)
            if wrap_up is None and (found := self._find_divergence(step)):
                return found
            if step.turn.failure == TIMEOUT and self.state.time_limit > self.old.timeout_seconds:
                return self._verdict_continued()
            seen = self._play_turn(step, seen, wrap_up)
            checkpoint = WRAP_UP if wrap_up else "turn"
        return self._verdict_as_recorded()

    def _state_at(self, seen: CheckpointState) -> AgentState:
        state = self.state
        needed = seen.last_request if state.turns_left <= 1 else seen.next_request
        further = forecast_further_turn(seen.context_tokens, TURN_TOKENS, self.growth)
        if seen.is_sent_back and state.finish_reason == "stop":
            state = state.replace(finish_reason="sent_back")
        return state.replace(
            rule_stop=RuleStop("") if seen.reason == RULE_STOPPED else None,
            asked_end=seen.asked_end,
            has_branches=seen.has_branches,
            now=seen.elapsed,
            cancelled=seen.cancelled,
            context_tokens=seen.context_tokens,
            next_request=needed,
            two_requests=needed + (further if state.turns_left > 2 else 0),
        )

    def _wrap_up_fits(self, seen: CheckpointState) -> bool:
        """Return whether a wrap-up fits. Where the recorded run stopped as well, it knew."""
        state, old, new = self.state, self.old, self.state.config
        needed = min(seen.last_request, self.cut_answer or seen.last_request)
        in_tokens = needed <= min(state.tokens_left, state.context_window or needed)
        in_time = state.elapsed_seconds < state.time_limit - GRACE_SECONDS
        if seen.wrapped:
            in_tokens = in_tokens or new.token_budget >= old.token_budget
            in_time = in_time or new.timeout_seconds >= old.timeout_seconds
        elif seen.reason in REASONS and REASONS.get(seen.reason).wraps_up:
            grown = (name for name in _WRAP_UP_LIMITS if getattr(new, name) > getattr(old, name))
            if not any(grown):
                return False
        return state.turns_left >= 1 and in_tokens and in_time

    def _wrap_up_tokens(self, seen: CheckpointState) -> int:
        """Return the forecast of a wrap-up; after calls it shows the tools if they fit."""
        state, with_tools = self.state, seen.context_tokens + MIN_ANSWER_TOKENS
        fits = with_tools <= min(state.tokens_left, state.context_window or with_tools)
        return with_tools if self.has_calls and fits else seen.last_request

    # -- one turn ---------------------------------------------------------------------------------

    def _begin_turn(self, wrap_up: str | None) -> None:
        """Ask the tree, and take everything that is due for told.

        The default tree asks for all that is due, so nothing else can be.
        """
        before = self.state
        state = start_turn_state(self.guard, before, wrap_up)
        is_told = not state.notices and not self.guard.overrides("on_turn_start")
        self.state = state if is_told else mark_notices_given(state)
        is_warned = "tokens" in self.state.fired and "tokens" not in before.fired
        if self._has_less_budget and (is_warned or self.warned_requests):
            self.warned_requests += 1

    def _play_turn(
        self, step: RecordedTurn, seen: CheckpointState, wrap_up: str | None
    ) -> CheckpointState | None:
        """Fold a recorded turn into the state; what the checkpoint after it sees."""
        if self.guard.overrides("on_tool_result") or self.guard.overrides("should_continue"):
            for result in step.results:
                self.state = self.guard.on_tool_result(self.state, result)
        turn, after = apply_tighter_limits(step, seen, self.state, self.old)
        if turn.wrap_up != wrap_up:
            turn = replace(turn, wrap_up=wrap_up)
        if step.used and self._has_less_budget:
            self.cut_answer = without = seen.last_request + turn.completion_tokens
            results = after.last_request - without if after is not None else 0
            if results > MAX_RESULT_SHARE * self.state.token_limit or self._would_cut_results(
                turn, after
            ):
                self.may_be_cut = True
        if after is not None:
            grown = max(0, after.context_tokens - seen.context_tokens)
            self.growth.append((grown, turn.completion_tokens))
        self.has_calls = self.has_calls or bool(step.used or step.refused)
        self.state = self.state.after_turn(turn)
        return after

    def _would_cut_results(self, turn: Turn, after: CheckpointState | None) -> bool:
        """Return whether results would have been cut so that the token warning is in time."""
        state = self.state
        left = state.tokens_left - turn_tokens(turn)
        return (
            after is not None
            and "tokens" not in state.fired
            and state.turns_left > 2
            and after.next_request + 2 * MIN_ANSWER_TOKENS > left
        )

    def _find_divergence(self, step: RecordedTurn) -> Verdict | None:
        """Return the verdict if this turn would not have been, or stayed, as recorded."""
        why = explain_divergence(
            step, self.recording, self.guard, self.state, has_other_tree=self.has_other_tree
        )
        if why:
            return self._verdict_unknown(why)
        return self._verdict_continued() if was_cut_by_limit(step, self.state, self.old) else None

    # -- endings ----------------------------------------------------------------------------------

    def _leave_record(
        self, seen: CheckpointState, step: RecordedTurn | None, wrap_up: str | None
    ) -> Verdict:
        """Return the verdict that the run leaves its record here: to answer, or for the unknown.

        What happened to it from outside in the turn that follows happens all the same.
        """
        if step is None and (not seen.reason or (wrap_up and seen.wrapped)):
            return self._verdict_as_recorded()
        if wrap_up is None:
            return self._verdict_continued()
        if step is not None and (step.after is None or step.after.cancelled):
            if self.recording.reason != PROVIDER_ERROR:
                return self._verdict_as_recorded()
            failed = replace(step.turn, wrap_up=wrap_up, action="", failure="provider_error")
            self.state = start_turn_state(self.guard, self.state, wrap_up).after_turn(failed)
            return self._verdict_ended(decide(self.guard, self.state, WRAP_UP)[1])
        answer = Turn(
            number=self.state.turn + 1,
            phase="end",
            wrap_up=wrap_up,
            answered=True,
            prompt_tokens=self._wrap_up_tokens(seen),
            usage_source="estimate",
            finish_reason="stop",
        )
        self.state = start_turn_state(self.guard, self.state, wrap_up).after_turn(answer)
        return self._verdict_ended(decide(self.guard, self.state, WRAP_UP)[1])

    def _verdict_ended(self, reason: str) -> Verdict:
        if reason == "token_budget" and self.may_be_cut:
            return self._verdict_unknown(LESS_USED)
        recording, turn = self.recording, self.state.turn
        turns = recording.turns
        kind: VerdictKind = "same" if reason == recording.reason else "other"
        if turn != turns or not recording.reason:
            kind = "later" if recording.reason and turn > turns else "earlier"
        return build_verdict(
            recording,
            kind,
            reason=reason,
            turn=turn,
            turns_saved=turns - turn,
            tokens_saved=recording.tokens - self.state.tokens_used,
            was_cut=recording.outcome == Outcome.COMPLETED.value
            and REASONS.get(reason).outcome is not Outcome.COMPLETED,
        )

    def _verdict_as_recorded(self) -> Verdict:
        recording = self.recording
        if not recording.reason:
            return self._verdict_unknown(NOT_ENDED)
        return build_verdict(self.recording, "same", reason=recording.reason, turn=recording.turns)

    def _verdict_continued(self) -> Verdict:
        return build_verdict(self.recording, "later", why_unknown=NOT_RECORDED)

    def _verdict_unknown(self, why: str) -> Verdict:
        return build_verdict(self.recording, "unknown", why_unknown=why)
