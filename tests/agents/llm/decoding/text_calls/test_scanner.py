import json
import random
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.decoding.text_calls import TextCall, TextCallScanner
from agents.llm.decoding.text_calls.openers import get_opener_index
from agents.llm.decoding.text_calls.scanner import MAX_CALL_LENGTH
from tests.agents.llm.wire import repeatable
from tests.support.timing import assert_in_proportion

from .samples import FENCED, KNOWN, PARTS, SAMPLES, SEARCH, Parts, Sample, deepseek, hermes, invoke

SHORT = {name: sample for name, sample in SAMPLES.items() if len(sample.written) < 3000}


def scan(pieces: Iterable[str]) -> tuple[str, list[TextCall]]:
    scanner = TextCallScanner(KNOWN)
    results = [*(scanner.feed(piece) for piece in pieces), scanner.flush()]
    return "".join(text for text, _ in results), [call for _, calls in results for call in calls]


def random_splits(text: str, count: int = 10) -> Iterator[list[str]]:
    dice = random.Random(text)
    for _ in range(count):
        edges = sorted(dice.choices(range(len(text) + 1), k=dice.randint(1, 8)))
        pairs = zip([0, *edges], [*edges, len(text)], strict=True)
        yield [text[start:end] for start, end in pairs]


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_calls_are_found_and_all_else_stays_text(sample: Sample) -> None:
    text, calls = scan([sample.written])
    assert text == sample.shown
    complete = [call for call in calls if not call.problem]
    assert [(call.name, json.loads(call.arguments)) for call in complete] == sample.calls
    assert len(calls) - len(complete) == sample.malformed


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())
def test_wherever_an_answer_is_cut_complete_calls_count_and_no_markup_is_shown(
    parts: Parts,
) -> None:
    written, whole = parts.written, scan([parts.written])[1]
    assert [call.problem for call in whole] == [""] * len(parts.calls)
    for length in range(len(written) + 1):
        shown, complete, malformed = parts.expect(length)
        for size in (1, 3, 7, length or 1):
            pieces = [
                written[start : min(start + size, length)] for start in range(0, length, size)
            ]
            text, calls = scan(pieces)
            assert text == shown, (length, size)
            assert calls[:complete] == whole[:complete], (length, size)
            assert [bool(call.problem) for call in calls[complete:]] == [True] * malformed


def test_a_malformed_call_says_what_was_written_and_names_the_tool() -> None:
    written = "<tool_call>" + SEARCH[:-1]
    _, (call,) = scan([f"a {written}"])
    assert (call.name, call.arguments) == ("vault_search", written)
    assert "not closed" in call.problem
    _, (call,) = scan([hermes('{"name": oops}')])
    assert call.name == "unknown"
    assert "syntax is wrong" in call.problem


def test_a_sample_gives_the_same_at_every_split() -> None:
    for name, sample in SHORT.items():
        written = sample.written
        whole = scan([written])
        assert scan(written) == whole, name
        for cut in range(len(written) + 1):
            assert scan([written[:cut], written[cut:]]) == whole, (name, cut)


def test_a_sample_in_random_pieces_gives_the_same() -> None:
    for name, sample in SAMPLES.items():
        whole = scan([sample.written])
        for pieces in random_splits(sample.written):
            assert scan(pieces) == whole, (name, pieces)


FRAGMENTS = [
    *("<tool_call>", "</tool_call>", SEARCH, "think{", "think", '{"a": 1}', "}", '"', "\\", "é"),
    *(
        "`",
        "```",
        "`" * 70,
        "\n",
        " ",
        "<",
        "a",
        "_",
        "<function=f>",
        "</function>",
        "<function_calls>",
    ),
    *(
        "</function_calls>",
        hermes(SEARCH),
        invoke("think"),
        invoke("x", ("a", "b"))[:-9],
        "</invoke>",
        "<invoke",
        "\n\n",
        deepseek(FENCED),
        deepseek(FENCED)[:30],
        "e\u0301",
    ),
]


@repeatable
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.randoms(use_true_random=False))
def test_any_mixture_gives_the_same_for_every_split(parts: list[str], dice: random.Random) -> None:
    written = "".join(parts)
    whole = scan([written])
    assert scan(written) == whole
    cut = dice.randint(0, len(written))
    assert scan([written[:cut], written[cut:]]) == whole


@repeatable
@given(st.text())
def test_text_without_calls_is_returned_to_the_character(text: str) -> None:
    assert scan([text]) == (text, [])


def test_nothing_of_a_call_is_ever_shown() -> None:
    scanner = TextCallScanner(KNOWN)
    shown = [scanner.feed(char)[0] for char in f"So: {hermes(SEARCH)} done"]
    assert "".join(shown) == "So:  done"


def test_text_is_released_as_soon_as_it_cannot_be_a_call() -> None:
    scanner = TextCallScanner(KNOWN)
    assert scanner.feed("a <tool_")[0] == "a "
    assert scanner.feed("x")[0] == "<tool_x"
    assert scanner.feed(" <tool_call>")[0] == " "
    assert scanner.feed("hello")[0] == ""  # its end tag may follow
    assert scanner.feed("\n\n")[0] == "<tool_call>hello\n\n"
    assert scanner.feed(" I think")[0] == " I "
    assert scanner.feed(" so")[0] == "think so"
    assert scanner.feed(" think{")[0] == " "
    assert scanner.feed("a: 1")[0] == "think{a: 1"


def test_prose_is_not_held_back() -> None:
    scanner = TextCallScanner(KNOWN)
    for piece in ("Owls", " sleep", " by", " day,", " mostly.", "\n\n", "Why?", " It's so"):
        assert scanner.feed(piece) == (piece, ())


def test_a_call_of_the_longest_size_is_a_call_and_one_more_character_makes_it_text() -> None:
    padding = MAX_CALL_LENGTH - len(hermes('{"name": "think", "arguments": {"a": ""}}'))
    for extra, found in ((0, 1), (1, 0)):
        body = '{"name": "think", "arguments": {"a": "%s"}}' % ("x" * (padding + extra))
        pieces = [
            hermes(body)[start : start + 7000] for start in range(0, MAX_CALL_LENGTH + 1, 7000)
        ]
        text, calls = scan(pieces)
        assert len(calls) == found
        assert text == ("" if found else hermes(body))
        assert scan([hermes(body)]) == (text, calls)


def test_what_is_held_back_is_bounded() -> None:
    scanner = TextCallScanner(KNOWN)
    fed = '<tool_call>{"a": "'
    shown, _ = scanner.feed(fed)
    for _ in range(100):
        fed += "x" * 1000
        shown += scanner.feed("x" * 1000)[0]
        assert len(fed) - len(shown) <= MAX_CALL_LENGTH
    assert shown == fed


REPEATED = {
    "<": "<",
    "`": "`",
    "think{": "think{",
    "think{}": "",
    "<tool_call>": "<tool_call>",
    '<tool_call>{"': "",
    "<function=a><parameter=b>": None,
    "<invoke name='a'>x": "",
    "<tool_call>x`": None,
}
"""Pieces of markup, and what is shown of many of them each; None: it depends on the place."""


@pytest.mark.parametrize("part", REPEATED)
def test_endless_repetition_is_bounded_in_memory(part: str) -> None:
    written = part * (100_000 // len(part))
    scanner = TextCallScanner(KNOWN)
    fed = shown = 0
    for start in range(0, len(written), 5000):
        piece = written[start : start + 5000]
        text, calls = scanner.feed(piece)
        fed += len(piece)
        shown += len(text)
        shown += sum(len(call.arguments) if call.problem else len(part) for call in calls)
        assert fed - shown <= MAX_CALL_LENGTH
    if (each := REPEATED[part]) is not None:
        text, calls = scan([written])
        assert text == each * (len(written) // len(part) - bool(calls))


def read_in_pieces(written: str) -> None:
    scanner = TextCallScanner(KNOWN)
    for start in range(0, len(written), 100):
        scanner.feed(written[start : start + 100])
    scanner.flush()


@pytest.mark.parametrize("part", REPEATED)
def test_reading_is_work_in_proportion_to_the_length(part: str) -> None:
    assert_in_proportion(read_in_pieces, lambda length: part * (length // len(part)), size=32_000)


def test_many_small_pieces_of_a_long_call_are_no_burden() -> None:
    body = json.dumps({"name": "think", "arguments": {"a": 'say "hi" {' * 4000}})
    written = hermes(body)
    text, calls = scan(written[start : start + 4] for start in range(0, len(written), 4))
    assert (text, len(calls)) == ("", 1)


def test_release_gives_back_what_is_held_and_forgets_it() -> None:
    scanner = TextCallScanner(KNOWN)
    assert scanner.feed('a <tool_call>{"na')[0] == "a "
    assert scanner.flush_raw() == '<tool_call>{"na'
    assert scanner.flush_raw() == ""
    assert scanner.feed("me") == ("me", ())


def test_without_known_tools_nothing_inline_is_a_call() -> None:
    scanner = TextCallScanner()
    assert scanner.feed('think{"a": 1}') == ('think{"a": 1}', [])


def test_no_opener_begins_another() -> None:
    openers = list(get_opener_index(KNOWN).families)
    assert len(openers) > 10
    assert [(a, b) for a in openers for b in openers if a != b and b.startswith(a)] == []
