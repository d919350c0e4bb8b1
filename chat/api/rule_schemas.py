"""Rules, their problems and their trials, as they go in and out."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from agents.core.rules.reader import MAX_RULE_LENGTH
from chat.api.schemas import Schema, Version, coerce_whole
from chat.api.stored_texts import TextProblem

EXAMPLE = (
    '[rule]\nid = "stop-after-five"\ntrigger = "on_turn_end"\n\n[condition]\n'
    "expression = 'history.calls.vault_search >= 5'\n\n[[action]]\n"
    'type = "stop"\nmessage = "It has searched five times."\n'
)
RuleText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_RULE_LENGTH,
        description="TOML, as in docs/rules.md. 409: not a rule; `detail` says where.",
        examples=[EXAMPLE],
    ),
]
Mode = Annotated[
    Literal["on", "shadow", "off"],
    Field(description="In shadow it is recorded that it would have fired, and nothing else."),
]


class RuleView(Schema):
    id: str = Field(description="The number, if stored; `shipped:NAME`, `file:NAME`.")
    name: str = Field(description="The id that its text gives it.")
    title: str
    description: str
    level: Literal["shipped", "site", "project", "own"]
    project_id: UUID | None = Field(description="Whose runs it holds for, if it is a project's.")
    mode: Mode
    trigger: str = Field(description="The hook. Empty: it has events instead.")
    events: list[str]
    text: str
    version: int | None = Field(description="Of a stored rule; grows with each change.")
    changed_at: datetime | None
    lock: str = Field(description="Why you cannot change or switch it. Empty: you can.")
    note: str = Field(description="Why it is not in force, whatever its mode. Empty: it is.")
    can_edit: bool


class RuleFiringsView(Schema):
    days: int
    count: int
    shadow: int = Field(description="How many of these were only recorded.")
    runs: list[UUID] = Field(description="Your runs in which it fired, newest first.")


class RuleDetail(RuleView):
    firings: RuleFiringsView


class RuleList(Schema):
    rules: list[RuleView]


class NewRule(Schema):
    text: RuleText
    level: Literal["own", "project", "site"] = "own"
    project: UUID | None = Field(None, description="For the level `project`.")


class RuleChange(Schema):
    text: RuleText
    version: Version = Field(description="The version you saw; if it has changed since: 409.")


class RuleSwitch(Schema):
    mode: Mode


class RuleCheck(Schema):
    text: RuleText


class RuleProblems(Schema):
    problems: list[TextProblem] = Field(description="None: it is a rule.")


class RuleAttempt(Schema):
    text: RuleText
    days: Annotated[Literal[7, 30], BeforeValidator(coerce_whole)] = Field(
        7, description="Of your own runs."
    )


class TriedFiring(Schema):
    turn: int
    words: str


class TriedRun(Schema):
    id: UUID
    outcome: str
    firings: list[TriedFiring]
    ends_early: bool
    was_cut: bool = Field(description="Whether it completed, and would have been ended early.")


class RuleTrialView(Schema):
    runs: int
    fired: int = Field(description="Runs in which it would have fired.")
    firings: int
    stopped: int = Field(description="Runs that it would have ended early.")
    cut: int = Field(description="Those of them that completed.")
    failed: int = Field(description="Runs in which it could not be evaluated.")
    why_not: dict[str, int] = Field(description="Parts that did not hold, by number of runs.")
    unknown: dict[str, int]
    listed: list[TriedRun] = Field(description="The newest in which it would have fired.")
