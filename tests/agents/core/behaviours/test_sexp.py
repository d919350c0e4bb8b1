"""Brackets, words and texts, each with its place."""

import pytest

from agents.core.behaviours.sexp import (
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_PROBLEMS,
    InvalidBehaviour,
    SourceForm,
    read_form,
)
from tests.support.timing import assert_in_proportion


def refuse(text: str) -> list[str]:
    with pytest.raises(InvalidBehaviour) as caught:
        read_form(text)
    return [str(problem) for problem in caught.value.problems]


def test_every_form_has_its_type_and_place() -> None:
    form = read_form('; a note\n(turn :say "Go on.",\n  [3 -0.5 true] {:a nil})')
    assert (form.type, form.head, form.place) == ("(", "turn", (2, 1))
    word, keyword, text, vector, mapping = form.items
    assert (word.type, word.text, word.place) == ("word", "turn", (2, 2))
    assert (keyword.type, keyword.text, keyword.place) == ("keyword", "say", (2, 7))
    assert (text.type, text.text, text.place) == ("text", "Go on.", (2, 12))
    assert [item.type for item in vector.items] == ["number", "number", "word"]
    assert [item.number for item in vector.items[:2]] == [3, -0.5]
    assert (vector.type, vector.place) == ("[", (3, 3))
    assert (mapping.type, mapping.place) == ("{", (3, 17))


def test_a_text_says_what_its_escapes_stand_for() -> None:
    assert read_form(r'"a\n\"b\" \\ \t"').text == 'a\n"b" \\ \t'


@pytest.mark.parametrize(
    ("place", "found"), [((1, 1), (1, 4)), ((1, 3), (1, 7)), ((2, 1), (1, 10)), ((3, 2), (2, 2))]
)
def test_a_place_inside_of_a_text_is_found_in_the_file(
    place: tuple[int, int], found: tuple[int, int]
) -> None:
    form = read_form('( "a\\"b\\nc\nde")')
    (text,) = form.items
    assert text.text == 'a"b\nc\nde'
    assert text.find_place(*place) == found


def test_brackets_are_told_with_what_they_should_be() -> None:
    assert refuse("(a [b)\n]") == [
        "1:6: the [ of 1:4 is closed by ], not by )",
        "2:1: the ( of 1:1 is closed by ), not by ]",
    ]
    assert refuse("(a\n  (b)") == ["1:1: this ( is never closed"]
    assert refuse("(a))") == ["1:4: this ) closes nothing"]
    assert refuse('(a "b)') == ["1:4: this text is never closed"]


def test_a_file_holds_one_form() -> None:
    assert refuse("(a) (b)") == ["1:5: a file holds one behaviour: nothing may follow it"]
    assert refuse(" ; nothing\n") == ['1:1: a behaviour begins with (tree "its name"']


def test_brackets_and_quotes_of_other_scripts_are_named() -> None:
    (problem,) = refuse("\uff08a b\uff09")[:1]
    assert problem.startswith("1:1: '\uff08' cannot be used: brackets and quotes are (")
    (problem,) = refuse("(a \u201cb\u201d)")
    assert problem.startswith("1:4: '\u201c' cannot be used")
    assert read_form('"\uff08\u201c"').text == "\uff08\u201c"


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800", "\u202e"])
@pytest.mark.parametrize("text", ['(a\n "b{}c")', "(a\n b) ; {}", "(a\n {})"])
def test_characters_that_cannot_be_seen_are_refused_everywhere(text: str, character: str) -> None:
    (problem,) = refuse(text.replace("{}", character))
    assert problem.endswith(f"the character U+{ord(character):04X} cannot be used")
    assert problem.split(":")[0] in ("2",)


def test_a_text_that_is_too_long_is_refused_unread() -> None:
    text = "(" * 10_000_000
    assert refuse(text) == [f"1:1: the text is longer than {MAX_LENGTH:,} characters"]


def test_deep_brackets_are_refused_where_they_become_too_deep() -> None:
    deep = "(" * 10_000 + ")" * 10_000
    assert refuse(deep) == [f"1:{MAX_DEPTH + 1}: this is nested more than {MAX_DEPTH} deep"]
    assert read_form("(" * MAX_DEPTH + ")" * MAX_DEPTH).type == "("


@pytest.mark.parametrize(
    "part", ['"', '"\\', "(", ")", "\u3010", '\\"', "#", "1a ", "([{", '"\\x" ']
)
def test_a_text_is_refused_in_time_that_grows_with_its_length(part: str) -> None:
    def build(size: int) -> str:
        return part * (size // len(part))

    assert 1 <= len(refuse(build(MAX_LENGTH))) <= MAX_PROBLEMS
    assert_in_proportion(refuse, build, size=MAX_LENGTH)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('("a\\x")', '1:2: \\x is not known: there are \\n, \\t, \\" and \\\\'),
        ("(12345678901234567)", "1:2: the number is too long"),
        ("(1a)", "1:2: '1a' is not a word, a keyword, a number or a text"),
        ("(: a)", "1:2: ':' is not a word, a keyword, a number or a text"),
        ("(a #)", "1:4: '#' is not a word, a keyword, a number or a text"),
    ],
)
def test_what_is_no_form_is_refused(text: str, problem: str) -> None:
    assert refuse(text) == [problem]


def test_a_form_that_is_no_node_has_no_head() -> None:
    assert [read_form(text).head for text in ("[a]", "()", '("a")', "a")] == [""] * 4
    assert read_form("(a)") == SourceForm("(", (1, 1), "", (SourceForm("word", (1, 2), "a"),))
