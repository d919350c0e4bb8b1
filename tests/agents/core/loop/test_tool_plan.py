"""The calls of one turn: what is run, shared and refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.loop.tool_plan import (
    CallIds,
    PlannedCall,
    all_calls_failed,
    assistant_message,
    parse_arguments,
    plan_calls,
)
from agents.core.messages import RawCall, ToolOutcome

texts = st.text(max_size=30) | st.sampled_from(
    ["", "{}", '{"a": 1}', '{ "a":1 }', "[1]", "5", "null", '{"a": NaN}', '{"a"', "{}{}", "NaN"]
)
raw_calls = st.lists(
    st.builds(
        RawCall,
        id=st.sampled_from(["", "x", "x", "y", "x-2"]) | st.text(max_size=4),
        name=st.sampled_from(["look", "write", "hidden", "", " look "]),
        arguments=texts,
    ),
    max_size=12,
)


def raw(name: str = "look", arguments: Any = "{}", id_: str = "") -> RawCall:
    return RawCall(id_, name, arguments if isinstance(arguments, str) else json.dumps(arguments))


def planned(*calls: RawCall, cap: int = 5, **how: Any) -> list[PlannedCall]:
    return plan_calls(calls, CallIds(), cap=cap, writes=lambda name: name == "write", **how)


def fates(entries: list[PlannedCall]) -> list[str]:
    """One word for each: run, shared, failed or refused."""

    def fate(entry: PlannedCall) -> str:
        if entry.outcome is not None:
            return "refused" if entry.outcome.refused else "failed"
        return "run" if entry.same_as is None else "shared"

    return [fate(entry) for entry in entries]


# -- parse, share, cap, refuse --------------------------------------------------------------------


def test_calls_keep_their_order() -> None:
    entries = planned(raw("b"), raw("a"), raw("c"))
    assert [(entry.order, entry.name) for entry in entries] == [(0, "b"), (1, "a"), (2, "c")]


def test_identical_reading_calls_share_one_result() -> None:
    entries = planned(raw("look", {"p": 1}), raw("find"), raw("look", '{"p":   1}'))
    assert fates(entries) == ["run", "run", "shared"]
    assert entries[2].same_as == 0


def test_argument_order_does_not_matter_when_sharing() -> None:
    entries = planned(raw("look", '{"a": 1, "b": 2}'), raw("look", '{"b": 2, "a": 1}'))
    assert fates(entries) == ["run", "shared"]


def test_blanks_around_a_name_do_not_matter() -> None:
    entries = planned(raw("look"), raw(" look\n"))
    assert [entry.name for entry in entries] == ["look", "look"]
    assert fates(entries) == ["run", "shared"]


def test_writing_calls_are_never_shared() -> None:
    assert fates(planned(raw("write"), raw("write"))) == ["run", "run"]


def test_calls_over_the_cap_are_refused_in_call_order() -> None:
    entries = planned(*[raw("look", {"p": n}) for n in range(4)], cap=2)
    assert fates(entries) == ["run", "run", "refused", "refused"]
    assert entries[2].outcome is not None
    assert "at most 2 tool calls" in entries[2].outcome.content


def test_shared_calls_do_not_count_towards_the_cap() -> None:
    entries = planned(raw("a"), raw("a"), raw("a"), raw("b"), raw("c"), cap=2)
    assert fates(entries) == ["run", "shared", "shared", "run", "refused"]


def test_a_call_after_the_cap_still_shares_an_earlier_result() -> None:
    assert fates(planned(raw("a"), raw("b"), raw("a"), cap=1)) == ["run", "refused", "shared"]


def test_a_refused_call_is_not_shared_but_refused_again() -> None:
    assert fates(planned(raw("a"), raw("b"), raw("b"), cap=1)) == ["run", "refused", "refused"]


def test_a_withheld_tool_is_refused_and_does_not_count() -> None:
    entries = planned(raw("hidden"), raw("look"), cap=1, withheld=frozenset({"hidden"}))
    assert fates(entries) == ["refused", "run"]
    assert entries[0].outcome is not None
    assert "hidden is not available" in entries[0].outcome.content


def test_on_a_wrap_up_turn_nothing_runs() -> None:
    entries = planned(raw("look"), raw("write"), raw("look", "{"), ending="the time is over.")
    assert fates(entries) == ["refused"] * 3
    assert {entry.outcome.content for entry in entries if entry.outcome} == {
        "Not run: the time is over."
    }


def test_a_malformed_call_fails_and_its_siblings_run() -> None:
    assert fates(planned(raw("look", '{"p": '), raw("look"))) == ["failed", "run"]


@given(raw_calls, st.integers(1, 20), st.booleans())
def test_every_plan_keeps_the_rules(calls: list[RawCall], cap: int, ends: bool) -> None:
    hidden = frozenset({"hidden"})
    entries = planned(*calls, cap=cap, withheld=hidden, ending="over" if ends else "")
    assert [entry.order for entry in entries] == list(range(len(calls)))
    assert len({entry.id for entry in entries}) == len(entries)
    assert all(entry.id for entry in entries)
    words = fates(entries)
    assert words.count("run") <= cap
    if ends:
        assert set(words) <= {"refused"}
    for entry, word in zip(entries, words, strict=True):
        if word == "shared":
            assert entry.same_as is not None
            first = entries[entry.same_as]
            assert (first.signature, first.order < entry.order) == (entry.signature, True)
            assert words[first.order] == "run"
            assert entry.name != "write"
        if word == "run":
            assert entry.name not in hidden
            assert isinstance(entry.call.arguments, dict)


# -- ids ------------------------------------------------------------------------------------------


def test_duplicate_and_empty_ids_are_made_unique() -> None:
    entries = planned(raw(id_="x"), raw("find", id_="x"), raw("a", id_=""), raw("b", id_=""))
    assert [entry.id for entry in entries] == ["x", "x-2", "call", "call-2"]


@given(st.lists(st.sampled_from(["", "x", "x-2", "call", "call-2"]) | st.text(max_size=3)))
def test_ids_are_unique_over_a_whole_run(wanted: list[str]) -> None:
    ids = CallIds()
    given_ids = [ids.make_unique(name) for name in wanted]
    assert len(set(given_ids)) == len(wanted)
    assert all(given_ids)


def test_the_same_id_in_two_turns_is_made_unique() -> None:
    ids = CallIds()
    first = plan_calls([raw(id_="x")], ids, cap=1, writes=lambda _: False)
    second = plan_calls([raw(id_="x")], ids, cap=1, writes=lambda _: False)
    assert first[0].id != second[0].id


# -- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "  ", "\n", "{}", " { } "])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert parse_arguments(text) == ({}, "")


@pytest.mark.parametrize(
    "text",
    ['{"a": ', "{'a': 1}", "look", '{"a": NaN}', '{"a": Infinity}', "{}{}", "[" * 100_000],
    ids=["cut", "quotes", "word", "nan", "infinity", "two", "nesting"],
)
def test_what_is_not_json_is_kept_and_explained(text: str) -> None:
    arguments, problem = parse_arguments(text)
    assert arguments == text
    assert "not valid JSON" in problem
    assert len(problem) < 500


@pytest.mark.parametrize(
    ("text", "kind"), [("[1]", "list"), ('"x"', "str"), ("5", "int"), ("null", "NoneType")]
)
def test_what_is_not_an_object_is_explained(text: str, kind: str) -> None:
    arguments, problem = parse_arguments(text)
    assert arguments == text
    assert "must be a JSON object" in problem
    assert kind in problem


@given(st.text())
def test_any_text_is_either_parsed_or_explained(text: str) -> None:
    arguments, problem = parse_arguments(text)
    assert bool(problem) is isinstance(arguments, str)


def test_a_huge_number_does_not_break_the_plan() -> None:
    """Python refuses to print integers of more than 4,300 digits, and to read them."""
    entries = planned(raw("look", '{"n": 1' + "0" * 10_000 + "}"))
    assert fates(entries) == ["failed"]


def test_arguments_as_deep_as_the_parser_takes_do_not_break_the_plan() -> None:
    for depth in (100, 500, 900, 990, 2_000, 50_000):
        entries = planned(raw("look", '{"a":' * depth + "1" + "}" * depth))
        assert isinstance(json.loads(encoded(entries)[0]), dict)


def test_a_call_without_parsed_arguments_cannot_be_run() -> None:
    with pytest.raises(TypeError):
        _ = planned(raw("look", "{"))[0].call


# -- the history ----------------------------------------------------------------------------------


def encoded(entries: list[PlannedCall]) -> list[str]:
    message = assistant_message("", entries)
    return [call["function"]["arguments"] for call in message["tool_calls"]]


@given(raw_calls, st.text(max_size=10))
def test_the_history_is_always_valid(calls: list[RawCall], text: str) -> None:
    entries = planned(*calls)
    message = assistant_message(text, entries)
    assert message["role"] == "assistant"
    assert message["content"] == (text or None)
    asked = message.get("tool_calls", [])
    assert [call["id"] for call in asked] == [entry.id for entry in entries]
    for call in asked:
        assert call["type"] == "function"
        assert call["function"]["name"]
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
    json.dumps(message, allow_nan=False)


def test_a_message_without_calls_has_no_empty_list_of_them() -> None:
    assert assistant_message("So.", []) == {"role": "assistant", "content": "So."}


# -- failing turns --------------------------------------------------------------------------------

OK = ToolOutcome(ok=True, content="")
FAILED = ToolOutcome(ok=False, content="")
REFUSED = ToolOutcome(ok=False, content="", refused=True)


@pytest.mark.parametrize(
    ("outcomes", "failed"),
    [
        ([], None),
        ([REFUSED], None),
        ([FAILED], True),
        ([FAILED] * 5, True),
        ([FAILED, REFUSED], True),
        ([FAILED, OK], False),
        ([REFUSED, OK], False),
    ],
)
def test_a_turn_fails_when_all_calls_that_ran_failed(
    outcomes: list[ToolOutcome], failed: bool | None
) -> None:
    entries = planned(*[raw("look", {"n": n}) for n in range(len(outcomes))], cap=20)
    for entry, outcome in zip(entries, outcomes, strict=True):
        entry.outcome = outcome
    assert all_calls_failed(entries) is failed
