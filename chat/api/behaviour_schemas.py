"""Modes and behaviours, as they go in and out."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from agents.behaviour_service import MAX_TEXT_LENGTH
from chat.api.schemas import Schema, Version
from chat.api.stored_texts import TextProblem

EXAMPLE = (
    '(tree "outline-first"\n  :description "Writes an outline, then the answer."\n  (sequence\n'
    '    (turn :interim "Outline" :tools :none :say "Write an outline, nothing else.")\n'
    "    (repeater :until-success (turn))))\n"
)
Level = Literal["shipped", "package", "file", "site", "own"]
BehaviourSource = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_TEXT_LENGTH,
        description="As in docs/behaviours.md. 409: not a behaviour; `detail` says where.",
        examples=[EXAMPLE],
    ),
]


class ModeView(Schema):
    name: str = Field(description="The value for `tree` of a question.")
    description: str = Field(description="What it does and costs, in a sentence.")
    level: Level = Field(description="Where it comes from.")
    tree: str = Field(description="The decision tree: it says whether a run goes on.")
    behaviour: str = Field(description="What drives its runs. Empty: turn after turn.")
    is_default: bool = Field(description="Whether it is your default.")


class ModeList(Schema):
    modes: list[ModeView]


class BehaviourView(Schema):
    id: str = Field(description="The number, if stored; `shipped:NAME`, `file:NAME` …")
    name: str
    description: str
    level: Level
    text: str
    version: int | None = Field(description="Of a stored behaviour; grows with each change.")
    changed_at: datetime | None
    problem: str = Field(description="Why it cannot be used any more. Empty: it can.")
    lock: str = Field(description="Why you cannot change it. Empty: you can.")


class BehaviourList(Schema):
    behaviours: list[BehaviourView]


class NewBehaviour(Schema):
    text: BehaviourSource
    level: Literal["own", "site"] = "own"


class BehaviourChange(Schema):
    text: BehaviourSource
    version: Version = Field(description="The version you saw; if it has changed since: 409.")


class BehaviourCheck(Schema):
    text: BehaviourSource


class BehaviourAttempt(Schema):
    text: BehaviourSource
    run: UUID = Field(description="A run of yours that has ended.")


class BehaviourTrialView(Schema):
    sentence: str = Field(description="How far it follows the run, or how it ends.")
    detail: str = Field(description="Why it is not known from there on. Empty: it is.")
    verdict: str = Field(description="What the checkpoints decide under its own decision tree.")
    ways: list[str] = Field(description="The nodes left from checkpoint to checkpoint: `3+ 2-`.")


class BehaviourProblems(Schema):
    problems: list[TextProblem] = Field(description="None: it is a behaviour.")
    drawing: list[str] = Field(description="Its nodes, a line each, if it is one.")
