"""Token accounts: estimates, usage, forecasts and cuts."""

import json
import math
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agents.core.messages import Message, TokenUsage
from agents.core.tokens import (
    MAX_RESULT_BYTES,
    MAX_WRAP_UP_TOKENS,
    MIN_ANSWER_TOKENS,
    TokenBudget,
    TokenCharge,
    message_chars,
    schema_chars,
    truncate_history,
    truncate_middle,
    truncate_result,
)

sizes = st.integers(0, 400_000)


def meter(limit: int = 50_000, window: int = 64_000, max_output: int = 8_192) -> TokenBudget:
    return TokenBudget(limit, window, max_output)


def calibrated(ratio: float) -> TokenBudget:
    """A meter whose provider counts so many times what 3.5 characters per token would give."""
    made = meter(200_000)
    made.charge(TokenUsage(round(10_000 * ratio), 0), 35_000, 0)
    return made


# -- estimates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chars", "tokens"), [(0, 0), (1, 1), (7, 2), (8, 3), (3_500, 1_000)])
def test_before_the_first_usage_a_token_is_three_and_a_half_characters(
    chars: int, tokens: int
) -> None:
    assert meter().estimate(chars) == tokens


def test_estimates_are_calibrated_by_the_last_provider_usage() -> None:
    made = meter()
    made.charge(TokenUsage(2_000, 0), 3_500, 0)
    assert made.estimate(3_500) == 2_000
    made.charge(TokenUsage(500, 0), 3_500, 0)
    assert made.estimate(3_500) == 500


def test_an_estimate_does_not_calibrate() -> None:
    made = meter()
    made.charge(TokenUsage(2_000, 0), 3_500, 0)
    made.charge(None, 10, 100_000)
    assert made.estimate(3_500) == 2_000


@pytest.mark.parametrize(("said", "tokens"), [(60_000, 5_000), (1, 200), (10**9, 1_000)])
def test_an_absurd_usage_does_not_make_estimates_absurd(said: int, tokens: int) -> None:
    made = meter()
    made.charge(TokenUsage(said, 0), 3_500, 0)
    assert made.estimate(3_500) == tokens


@given(sizes, st.floats(0.3, 4.0))
def test_characters_and_tokens_are_each_others_inverse(tokens: int, ratio: float) -> None:
    made = calibrated(ratio)
    assert made.estimate(made.to_chars(tokens)) <= tokens + 1
    assert made.to_chars(tokens) == pytest.approx(tokens * 3.5 / ratio, rel=0.01, abs=2)


# -- charges --------------------------------------------------------------------------------------

IMPOSSIBLE: dict[str, tuple[Any, Any]] = {
    "negative": (-5, 10),
    "a negative answer": (100, -1),
    "nothing asked": (0, 10),
    "true": (True, True),
    "a fraction": (100.0, 2.5),
    "text": ("100", "20"),
    "more than was sent can be": (100_000, 10),
    "more than could be written": (100, 100_000),
    "too much for PostgreSQL": (2**31, 10),
    "too much for SQLite": (2**63, 10),
    "an answer too much for SQLite": (100, 2**63),
}


@pytest.mark.parametrize(("prompt", "completion"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_usage_that_cannot_be_true_is_estimated(prompt: Any, completion: Any) -> None:
    made = meter()
    assert made.charge(TokenUsage(prompt, completion), 3_500, 350) == TokenCharge(
        1_000, 100, "estimate"
    )
    assert made.used == 1_100
    assert made.estimate(3_500) == 1_000


def test_usage_that_only_we_did_not_expect_is_believed() -> None:
    """Of a context that is larger than we know, and of thoughts that were not shown."""
    long = 1_000_000
    assert meter().charge(TokenUsage(long // 2, 10), long, 40).source == "provider"
    assert meter().charge(TokenUsage(100, 60_000), 350, 40).source == "provider"


def test_the_providers_usage_is_the_truth() -> None:
    made = meter()
    assert made.charge(TokenUsage(100, 20), 7, 7) == TokenCharge(100, 20, "provider")
    assert (made.used, made.left) == (120, 49_880)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_an_absent_usage_is_never_zero(prompt: int, answer: int) -> None:
    made = meter()
    charge = made.charge(None, prompt, answer)
    assert charge.source == "estimate"
    assert charge.prompt == math.ceil(prompt / 3.5) > 0
    assert charge.completion == math.ceil(answer / 3.5) > 0
    assert made.used == charge.prompt + charge.completion


def test_charges_add_up_and_nothing_is_left_rather_than_less() -> None:
    made = meter(limit=1_000)
    for _ in range(3):
        made.charge(TokenUsage(300, 100), 1_050, 350)
    assert (made.used, made.left) == (1_200, 0)


# -- what fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "window"), [(1_000, 64_000), (50_000, 1_000)])
def test_a_request_fits_when_a_useful_answer_fits_with_it(limit: int, window: int) -> None:
    room = (1_000 - MIN_ANSWER_TOKENS) * 7 // 2
    assert meter(limit, window).has_room_for(room)
    assert not meter(limit, window).has_room_for(room + 4)


def test_a_spent_budget_fits_nothing() -> None:
    made = meter(limit=1_000)
    made.charge(TokenUsage(1_000, 0), 3_500, 0)
    assert not made.has_room_for(0)


@pytest.mark.parametrize(
    ("limit", "window", "output", "cap", "allowed", "by_budget"),
    [
        (1_000, 64_000, 8_192, 1_000, 900, True),
        (50_000, 1_000, 8_192, 50_000, 900, False),
        (50_000, 64_000, 500, 50_000, 500, False),
        (50_000, 64_000, 8_192, MAX_WRAP_UP_TOKENS, MAX_WRAP_UP_TOKENS, False),
    ],
    ids=["budget", "window", "model", "wrap-up"],
)
def test_an_answer_is_capped_by_what_is_smallest(
    limit: int, window: int, output: int, cap: int, allowed: int, by_budget: bool
) -> None:
    assert meter(limit, window, output).max_answer_tokens(350, cap) == (allowed, by_budget)


@given(st.integers(1_000, 200_000), st.integers(1_000, 200_000), sizes, st.integers(0, 200_000))
def test_an_answer_never_takes_more_than_is_left(
    limit: int, window: int, chars: int, used: int
) -> None:
    made = meter(limit, window)
    made.used = used
    cap, by_budget = made.max_answer_tokens(chars, limit)
    assert cap >= 1
    if made.has_room_for(chars):
        assert made.estimate(chars) + cap <= min(made.left, window)
    assert by_budget is (
        made.left - made.estimate(chars) <= min(window - made.estimate(chars), 8_192, limit)
    )


# -- results --------------------------------------------------------------------------------------


def test_one_result_gets_fifteen_percent_of_the_budget() -> None:
    assert meter(limit=10_000).result_chars(0, 1) == 1_500 * 3.5


def test_no_result_is_longer_than_64_ki() -> None:
    assert meter(limit=200_000, window=10**6).result_chars(0, 1) == MAX_RESULT_BYTES == 65_536


@given(st.text(min_size=1, max_size=5), st.integers(1, 30_000), st.integers(200, 65_536))
def test_a_result_is_cut_to_its_characters_and_to_64_kib(
    piece: str, times: int, limit: int
) -> None:
    text = piece * times
    cut = truncate_result(text, limit)
    size = len(cut.encode("utf-8", "replace"))
    assert len(cut) <= limit
    assert size <= 65_536
    if len(text) <= limit and len(text.encode("utf-8", "replace")) <= 65_536:
        assert cut == text
    else:
        assert "characters cut" in cut
        assert len(cut) == limit or size > 65_000


@given(st.integers(2_000, 200_000), st.integers(1, 20), st.integers(0, 100_000))
def test_after_a_turns_results_an_answer_still_fits(limit: int, results: int, chars: int) -> None:
    made = meter(limit)
    each = made.result_chars(chars, results)
    assert 0 <= each <= MAX_RESULT_BYTES
    if each:
        assert made.has_room_for(chars + each * results + 16 * results)


def test_a_short_text_is_not_cut() -> None:
    assert truncate_middle("x" * 300, 300) == "x" * 300


@given(st.integers(200, 5_000), st.integers(1, 20_000))
def test_a_long_text_is_cut_to_the_exact_length_with_head_and_tail(limit: int, over: int) -> None:
    text = "".join(chr(33 + n % 90) for n in range(limit + over))
    cut = truncate_middle(text, limit)
    assert len(cut) == limit
    head, mark, tail = re.split(r"(\n\[… [\d,]+ characters cut …\]\n)", cut)
    assert mark
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) > len(tail) > 0


@given(st.integers(200, 5_000), st.integers(1, 20_000))
def test_the_mark_says_how_many_characters_are_missing(limit: int, over: int) -> None:
    text = "x" * (limit + over)
    cut = truncate_middle(text, limit)
    (said,) = re.findall(r"\[… ([\d,]+) characters cut …\]", cut)
    assert int(said.replace(",", "")) == len(text) - cut.count("x")


# -- sizes ----------------------------------------------------------------------------------------

contents = st.none() | st.text(max_size=50)
tool_calls = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.just("c"),
            "function": st.fixed_dictionaries({"name": st.text(), "arguments": st.text()}),
        }
    ),
    max_size=3,
)


@given(contents, tool_calls)
def test_a_message_is_never_estimated_smaller_than_its_text(
    content: str | None, called: list[dict[str, Any]]
) -> None:
    message: Message = {"role": "assistant", "content": content, "tool_calls": called}
    written = sum(len(c["function"]["name"]) + len(c["function"]["arguments"]) for c in called)
    assert message_chars(message) >= len(content or "") + written + 1


def test_a_message_without_anything_has_a_size() -> None:
    assert message_chars({"role": "user"}) > 0


def test_schemas_have_about_the_size_of_their_json() -> None:
    schema = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    assert schema_chars([schema, schema]) == pytest.approx(2 * len(json.dumps(schema)), rel=0.1)
    assert schema_chars([]) == 0


# -- history --------------------------------------------------------------------------------------


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """A question, tool turns with a result for each call, and an answer or none."""
    messages: list[Message] = [{"role": "user", "content": draw(st.text(max_size=40))}]
    for turn in range(draw(st.integers(0, 2))):
        ids = [f"{turn}-{n}" for n in range(draw(st.integers(1, 3)))]
        asked = [{"id": i, "function": {"name": "look", "arguments": "{}"}} for i in ids]
        messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        messages += [{"role": "tool", "tool_call_id": i, "content": "found"} for i in ids]
    if draw(st.booleans()):
        messages.append({"role": "assistant", "content": draw(st.text(max_size=40))})
    return messages


histories = st.lists(exchanges(), max_size=6)


@given(histories, st.integers(0, 2_000))
def test_history_is_cut_at_whole_exchanges_newest_first(
    parts: list[list[Message]], limit: int
) -> None:
    kept = truncate_history([message for part in parts for message in part], limit)
    wanted: list[Message] = []
    for part in reversed(parts):
        if sum(map(message_chars, [*part, *wanted])) > limit:
            break
        wanted = [*part, *wanted]
    assert kept == wanted


@given(histories, st.integers(0, 2_000))
def test_a_cut_history_starts_at_a_question_and_every_call_has_its_result(
    parts: list[list[Message]], limit: int
) -> None:
    kept = truncate_history([message for part in parts for message in part], limit)
    assert not kept or kept[0]["role"] == "user"
    asked = [call["id"] for m in kept for call in m.get("tool_calls", ())]
    given_ = [m["tool_call_id"] for m in kept if m["role"] == "tool"]
    assert asked == given_


@given(histories)
def test_a_history_that_fits_is_kept_whole(parts: list[list[Message]]) -> None:
    history = [message for part in parts for message in part]
    assert truncate_history(history, sum(map(message_chars, history))) == history


@given(histories)
def test_what_comes_before_the_first_question_is_left_out(parts: list[list[Message]]) -> None:
    assume(parts)
    stray: list[Message] = [{"role": "assistant", "content": "stray"}]
    history = [message for part in parts for message in part]
    assert truncate_history([*stray, *history], 10**6) == history


def test_history_gets_at_most_thirty_percent_of_the_budget() -> None:
    assert meter(limit=100_000).history_chars(3_500) == 30_000 * 3.5


@pytest.mark.parametrize(("limit", "tokens"), [(50_000, 14_924), (10_000, 1_590), (5_000, 750)])
def test_history_leaves_two_turns_and_an_answer_but_not_less_than_a_share(
    limit: int, tokens: int
) -> None:
    """A long conversation is not to be warned of its tokens before it has used any."""
    assert meter(limit=limit).history_chars(3_500) == int(tokens * 3.5)


@given(st.integers(1_000, 200_000), st.integers(1_000, 200_000), sizes)
def test_history_always_leaves_room_for_what_must_be_sent_and_an_answer(
    limit: int, window: int, fixed: int
) -> None:
    chars = meter(limit, window).history_chars(fixed)
    assert 0 <= chars <= limit * 0.3 * 3.5
    if chars:
        assert TokenBudget(200_000, window, 8_192).has_room_for(fixed + chars)
