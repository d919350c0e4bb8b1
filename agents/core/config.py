"""The limits of a run: the one place that holds default, bounds, label and help text.

Model validators, check constraints, forms, API and documentation are derived from `LIMITS`.
A configuration that is out of bounds cannot be built.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo


class ConfigError(ValueError):
    """Values that were refused: field name to a sentence a person understands."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__(" ".join(f"{name}: {text}" for name, text in self.problems.items()))


class AgentConfig(BaseModel):
    """The limits of one run. Frozen; whichever limit comes first ends the run.

    Built from field names or from their camelCase spelling; ValidationError names every problem.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    max_iterations: int = Field(
        15,
        ge=1,
        le=50,
        title="Max iterations",
        description="How many times the model may be asked in one run. "
        "The last iteration is kept for the answer.",
    )
    soft_warning_percent: int = Field(
        70,
        ge=50,
        le=90,
        title="Warn at, iterations (%)",
        description="Share of the iterations after which you and the model are warned; "
        "at the latest two iterations before the end.",
    )
    token_budget: int = Field(
        50_000,
        ge=1_000,
        le=200_000,
        title="Tokens",
        description="Tokens one run may use, prompts and answers together.",
    )
    token_warning_percent: int = Field(
        80,
        ge=50,
        le=95,
        title="Warn at, tokens (%)",
        description="Share of the tokens after which you and the model are warned.",
    )
    timeout_seconds: int = Field(
        120,
        ge=10,
        le=600,
        title="Time (seconds)",
        description="How long one run may take in all.",
    )
    max_tool_calls_per_turn: int = Field(
        5,
        ge=1,
        le=20,
        title="Tool calls per iteration",
        description="Calls beyond this number in one iteration are refused; "
        "the model may ask again.",
    )
    max_parallel_tools: int = Field(
        3,
        ge=1,
        le=10,
        title="Tools at the same time",
        description="How many tool calls of one iteration run at once.",
    )

    @model_validator(mode="before")
    @classmethod
    def _use_field_names(cls, values: Any) -> Any:
        return use_field_names(values)

    @classmethod
    def build(cls, values: Mapping[str, Any], in_force: Self | None = None) -> Self:
        """Return `values` on top of `in_force` as a configuration, or raise ConfigError."""
        current = in_force or cls()
        try:
            return cls(**{**current.model_dump(), **use_field_names(values)})
        except ValidationError as error:
            raise ConfigError(
                {
                    name: _describe_problem(name, current)
                    for name in dict.fromkeys(str(e["loc"][0]) for e in error.errors())
                }
            ) from None

    def restrict_to(self, other: Self) -> Self:
        """Return what both allow: the smaller of each limit, and the tree's warning percents."""
        if other is self:
            return self
        own = self.model_dump()
        return type(self)(
            **{
                name: value if name.endswith("_percent") else min(value, own[name])
                for name, value in other.model_dump().items()
            }
        )


CAMEL_CASE_NAMES = {to_camel(name): name for name in AgentConfig.model_fields}


def use_field_names(values: Any) -> Any:
    """Return `values` with camelCase names of limits (`maxIterations`) as field names.

    A limit given in both spellings keeps both, so that the camelCase one is refused as unknown.
    What is not a mapping is returned as it is.
    """
    if not isinstance(values, Mapping) or not values.keys() & CAMEL_CASE_NAMES.keys():
        return values
    renamed = {}
    for name, value in values.items():
        field = CAMEL_CASE_NAMES.get(name, name)
        renamed[name if field in values else field] = value
    return renamed


def describe_double(name: str) -> str:
    """Return the sentence for the camelCase name of a limit that was given in both spellings."""
    return f"This is {CAMEL_CASE_NAMES[name]} again. Give one of the two."


@dataclass(frozen=True, slots=True)
class AgentConfigBounds:
    """One field of AgentConfig as forms, database and documentation need it."""

    name: str
    default: int
    minimum: int
    maximum: int
    label: str
    help: str

    @property
    def range_text(self) -> str:
        return f"a whole number from {self.minimum:,} to {self.maximum:,}"


def _build_bounds(name: str, field: FieldInfo) -> AgentConfigBounds:
    bounds = {kind: m for m in field.metadata for kind in ("ge", "le") if hasattr(m, kind)}
    return AgentConfigBounds(
        name=name,
        default=int(field.default),
        minimum=int(bounds["ge"].ge),
        maximum=int(bounds["le"].le),
        label=str(field.title),
        help=str(field.description),
    )


LIMITS: dict[str, AgentConfigBounds] = {
    n: _build_bounds(n, f) for n, f in AgentConfig.model_fields.items()
}


def _describe_problem(name: str, in_force: AgentConfig) -> str:
    if name in CAMEL_CASE_NAMES:
        return describe_double(name)
    limit = LIMITS.get(name)
    if limit is None:
        return f"There is no such setting. Known: {', '.join(LIMITS)}."
    return f"Must be {limit.range_text}. Still using {getattr(in_force, name):,}."
