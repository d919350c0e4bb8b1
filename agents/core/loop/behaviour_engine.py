"""A run as a behaviour sees it: it opens turns, reads what came of them, and may say something."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from agents.core.behaviours.run_interface import CallResult, TurnOrder
from agents.core.chunks import OracleStreamChunk
from agents.core.config import AgentConfig
from agents.core.control.facts import Facts
from agents.core.decisions.endings import BEHAVIOUR_ENDED, DECLINED, NEEDS_APPROVAL
from agents.core.loop.context import RunContext
from agents.core.loop.engine import ANSWERED, TurnEngine
from agents.core.loop.prompt import ConversationInput
from agents.core.loop.turn import say_to_model
from agents.core.notify.hints import HintLine
from agents.core.sanitize import replace_unstorable
from agents.core.state import Notice
from agents.core.tokens import truncate_middle

MAX_NOTICE_CHARS = 4_000
MAX_WORDS_CHARS = 500


class BehaviourEngine(TurnEngine):
    """The turns of a run, and what else a behaviour may do with it: never more than it allows."""

    def __init__(self, ctx: RunContext, conversation: ConversationInput, facts: Facts) -> None:
        super().__init__(ctx, conversation)
        self._facts = facts

    @property
    def is_halted(self) -> bool:
        """Whether the run is over, or gives its last answer: no behaviour has a say in that."""
        state = self.ctx.state
        if self.reason or state.asked_end is not None or state.held_calls:
            return True
        return self.turn is not None and self.turn.wrap_up is not None

    @property
    def now(self) -> float:
        return self.ctx.clock.monotonic()

    @property
    def config(self) -> AgentConfig:
        return self.ctx.state.config

    @property
    def question(self) -> str:
        return self.conversation.question

    @property
    def next_step(self) -> str:
        """The step that the open turn has come to; nothing: no turn is open."""
        return self.turn.next_step if self.turn is not None else ""

    # -- turns ------------------------------------------------------------------------------------

    def prepare_request(self, order: TurnOrder) -> Iterator[OracleStreamChunk]:
        """Hold the open turn to what a behaviour wants of its request."""
        if self.turn is not None and self.next_step == "ask":
            self.turn.order = order
            self.ctx.limits.apply(order)
            yield from say_to_model(self.ctx, order.say)

    def limit_time(self, until: float | None) -> None:
        self.ctx.limits.deadline = math.inf if until is None else until

    # -- what came of it --------------------------------------------------------------------------

    def has_answer(self) -> bool:
        return self.turn is not None and not self.turn.failure

    def has_calls(self) -> bool:
        return self.turn is not None and bool(self.turn.answer.calls)

    def has_answered(self) -> bool:
        return self.ctx.state.finish_reason in ANSWERED and not self.has_failed()

    def has_failed(self) -> bool:
        return bool((self.turn or self.last_turn).failure)

    def get_reply(self) -> str:
        return "".join((self.turn or self.last_turn).answer.text)

    def get_results(self) -> list[CallResult]:
        outcomes = [entry.outcome for entry in self.last_turn.batch.entries]
        return [
            CallResult(one.ok, one.given or one.content)
            if one is not None
            else CallResult(False, "", is_held=True)
            for one in outcomes
        ]

    def read_facts(self) -> Mapping[str, Any]:
        return self._facts.describe_run(self.ctx.clock.time())

    # -- what is said and asked -------------------------------------------------------------------

    def say(self, text: str) -> None:
        words = truncate_middle(replace_unstorable(text), MAX_WORDS_CHARS)
        self.ctx.hints.append(HintLine(words))

    def notify(self, text: str) -> Iterator[OracleStreamChunk]:
        words = truncate_middle(replace_unstorable(text), MAX_NOTICE_CHARS)
        yield from self.ctx.tell(
            Notice(
                key="",
                system_type="notification",
                message=words,
                severity="info",
                metadata={"limit_type": "behaviour"},
            )
        )

    def stop(self, reason: str) -> None:
        self.ctx.state = self.ctx.state.replace(asked_end=reason)

    def end_behaviour(self, *, is_declined: bool) -> None:
        if self.has_failed():  # that ends the run, see leave_behaviour
            return
        without = DECLINED if is_declined else BEHAVIOUR_ENDED
        self.stop("completed" if self.ctx.state.has_answered else without)

    def leave_behaviour(self) -> None:
        """Let a request that failed end the run after all: there is nothing else to try."""
        self.ctx.state = self.ctx.state.replace(has_branches=False)
        if self.failure is not None and self.ctx.state.asked_end is None:
            self.end_with_model_error(self.failure)

    def ask_approval(self, question: str, snapshot: Mapping[str, Any]) -> None:
        """Ask at the next checkpoint, if that does not end the run for another reason."""
        self.approval = {
            "approval_id": self.conversation.context_id or "",
            "asker": "behaviour",
            "question": truncate_middle(replace_unstorable(question), MAX_NOTICE_CHARS),
            "snapshot": snapshot,
        }
        self.stop(NEEDS_APPROVAL)

    def report_failure(self, behaviour: str, why: str) -> Iterator[OracleStreamChunk]:
        """Tell that a behaviour drives the run no more."""
        yield from self.ctx.tell(
            Notice(
                key="behaviour_failed",
                system_type="notification",
                message=f"The behaviour {behaviour} failed ({why}); the run goes on without it.",
                metadata={"limit_type": "behaviour", "failure": why},
            )
        )
