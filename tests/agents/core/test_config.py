"""The limits of a run: what they may be, and what is said when they may not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.core.config import LIMITS, AgentConfig, ConfigError

# field, default, minimum, maximum, as required
TABLE = [
    ("max_iterations", 15, 1, 50),
    ("soft_warning_percent", 70, 50, 90),
    ("token_budget", 50_000, 1_000, 200_000),
    ("token_warning_percent", 80, 50, 95),
    ("timeout_seconds", 120, 10, 600),
    ("max_tool_calls_per_turn", 5, 1, 20),
    ("max_parallel_tools", 3, 1, 10),
]
FIELDS = [row[0] for row in TABLE]
PERCENTS = {"soft_warning_percent", "token_warning_percent"}

any_field = st.sampled_from(FIELDS)
configs = st.builds(AgentConfig, **{name: st.integers(low, high) for name, _, low, high in TABLE})


def test_the_limits_are_those_of_the_specification() -> None:
    assert [(n, x.default, x.minimum, x.maximum) for n, x in LIMITS.items()] == TABLE


def test_the_configuration_has_no_other_fields() -> None:
    assert list(AgentConfig.model_fields) == FIELDS


@pytest.mark.parametrize("name", FIELDS)
def test_every_limit_has_its_own_name_label_and_help(name: str) -> None:
    limit = LIMITS[name]
    assert limit.name == name
    assert limit.label.strip()
    assert limit.help.endswith(".")
    assert len({other.label for other in LIMITS.values()}) == len(LIMITS)


def test_without_values_the_defaults_apply() -> None:
    assert AgentConfig.build({}) == AgentConfig()
    assert AgentConfig().model_dump() == {name: default for name, default, _, _ in TABLE}


@pytest.mark.parametrize(("name", "low", "high"), [(n, a, b) for n, _, a, b in TABLE])
def test_the_bounds_themselves_are_allowed(name: str, low: int, high: int) -> None:
    assert getattr(AgentConfig.build({name: low}), name) == low
    assert getattr(AgentConfig.build({name: high}), name) == high


@pytest.mark.parametrize(("name", "low", "high"), [(n, a, b) for n, _, a, b in TABLE])
def test_one_beyond_a_bound_is_refused_everywhere(name: str, low: int, high: int) -> None:
    for value in (low - 1, high + 1):
        with pytest.raises(ConfigError):
            AgentConfig.build({name: value})
        with pytest.raises(ValidationError):
            AgentConfig(**{name: value})


@pytest.mark.parametrize("name", FIELDS)
def test_what_is_not_a_whole_number_is_refused(name: str) -> None:
    odd: list[Any] = ["many", "", "  ", "12", None, True, 60.0, 60.5, [], {}]
    for value in [*odd, float("nan"), float("inf")]:
        with pytest.raises(ConfigError) as refusal:
            AgentConfig.build({name: value})
        assert list(refusal.value.problems) == [name], value


@pytest.mark.parametrize(("name", "default", "low", "high"), TABLE)
def test_a_refusal_names_the_bounds_and_the_value_in_force(
    name: str, default: int, low: int, high: int
) -> None:
    with pytest.raises(ConfigError) as refusal:
        AgentConfig.build({name: high + 1})
    message = refusal.value.problems[name]
    assert f"from {low:,} to {high:,}" in message
    assert f"Still using {default:,}" in message
    assert name in str(refusal.value)


@given(any_field, configs)
def test_a_refusal_names_the_users_own_value(name: str, in_force: AgentConfig) -> None:
    with pytest.raises(ConfigError) as refusal:
        AgentConfig.build({name: "?"}, in_force)
    assert f"Still using {getattr(in_force, name):,}." in refusal.value.problems[name]


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as refusal:
        AgentConfig.build({"max_iterations": 0, "token_budget": None, "timeout_seconds": 30})
    assert set(refusal.value.problems) == {"max_iterations", "token_budget"}


def test_camel_case_names_are_taken_as_field_names() -> None:
    assert AgentConfig.model_validate({"maxIterations": 3}).max_iterations == 3
    assert AgentConfig.build({"tokenBudget": 4_000}, AgentConfig(max_iterations=3)) == AgentConfig(
        max_iterations=3, token_budget=4_000
    )
    with pytest.raises(ConfigError) as refused:
        AgentConfig.build({"maxIterations": 51})
    assert list(refused.value.problems) == ["max_iterations"]


def test_a_limit_in_both_spellings_is_refused() -> None:
    both = {"maxIterations": 3, "max_iterations": 3}
    with pytest.raises(ValidationError):
        AgentConfig(**both)
    with pytest.raises(ConfigError) as refused:
        AgentConfig.build(both)
    assert refused.value.problems == {
        "maxIterations": "This is max_iterations again. Give one of the two."
    }


def test_an_unknown_setting_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError) as refusal:
        AgentConfig.build({"max_turns": 3})
    message = refusal.value.problems["max_turns"]
    assert [name for name in FIELDS if name not in message] == []


@given(configs, any_field, st.data())
def test_a_change_touches_nothing_else(
    in_force: AgentConfig, name: str, data: st.DataObject
) -> None:
    value = data.draw(st.integers(LIMITS[name].minimum, LIMITS[name].maximum))
    changed = AgentConfig.build({name: value}, in_force)
    assert changed.model_dump() == {**in_force.model_dump(), name: value}


def test_limits_are_not_validated_against_each_other() -> None:
    made = AgentConfig.build({"max_parallel_tools": 10, "max_tool_calls_per_turn": 1})
    assert (made.max_parallel_tools, made.max_tool_calls_per_turn) == (10, 1)


def test_a_configuration_cannot_be_edited() -> None:
    with pytest.raises(ValidationError):
        AgentConfig().max_iterations = 3  # type: ignore[misc]


@given(configs, configs)
def test_a_tree_can_only_tighten(user: AgentConfig, tree: AgentConfig) -> None:
    effective = user.restrict_to(tree).model_dump()
    for name, value in effective.items():
        if name in PERCENTS:
            assert value == getattr(tree, name)
        else:
            assert value == min(getattr(user, name), getattr(tree, name))
