"""The expression language: what it answers, what it refuses, and where it says the mistake is."""

import fnmatch
import tracemalloc
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from agents.core.control import InvalidExpression, Language, Unanswerable, parse_expression
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, ValueKind
from tests.agents.core.control.random_expressions import LANGUAGE, VALUES
from tests.support.timing import measure_multiple

HOSTILE = [
    "9" * 499,
    "1e999",
    "10 ** 9",
    "9**9**9**9",
    "'a' * 10",
    "'%1000000000d' % 1",
    "[0] * 1000000000",
    "1 << 1000000",
    "(" * 240 + "1" + ")" * 240,
    "(" * 90 + "1" + ")" * 90 + "+",
    "[" * 400,
    "not " * 120 + "x",
    "-" * 499,
    "1+" * 249 + "1",
    "result." + "a." * 200 + "b",
    "result.__class__",
    "result.__class__.__mro__[1].__subclasses__()",
    "state._secret",
    "().__class__",
    "''.join(['a'])",
    "question.format(turn)",
    "__import__('os').system('true')",
    "open('/etc/passwd')",
    "eval('1')",
    "lambda: 1",
    "(lambda x: x(x))(lambda x: x(x))",
    "(x := 5)",
    "f'{question}'",
    "b'a'",
    "1j",
    "...",
    "{1: 2}",
    "{1, 2}",
    "(1, 2)",
    "tools[0:2]",
    "tools[::1]",
    "[x for x in tools for y in tools]",
    "any(any(y.size > 1 for y in tools) for x in tools)",
    "[x async for x in tools]",
    "[x for x, y in tools]",
    "[_ for _ in tools]",
    "[turn for turn in tools]",
    "(x for x in tools)",
    "any(*tools)",
    "round(1.5, ndigits=2)",
    "round(5, -1000000000)",
    "len()",
    "len(1, 2)",
    "min()",
    "sum(tools)",
    "await turn",
    "yield",
    "1; 2",
    "1\n2",
    "1\x002",
    "\ud800",
    "'\\x41'",
    "'a",
    "",
    "  \n ",
    "is",
    "1 is 1",
    "x",
    "max",
    "~1",
    "1 @ 2",
    "1 & 2",
    "import os",
    "del turn",
    "turn = 1",
    "while True: pass",
    "for x in tools: x",
    "def f(): 1",
    "return 1",
    "raise 1",
    "global turn",
    "with open('a') as b: 1",
    "print(1)",
    "exec('1')",
    "getattr(turn, 'a')",
    "globals()",
    "vars(result)",
    "type(turn)",
    "breakpoint()",
    "os.system('a')",
    "question.upper()",
    "tools.append(1)",
    "failures.clear()",
    "state['a'] = 1",
    "*tools",
    "[*tools]",
    "{**failures}",
    "1 if 2",
    "not",
    "tools[",
    "'a' * 1000000000",
    "[1] * 1000000000",
    "[0] + [1]",
    "1e999",
    "turn.real",
    "sizes.__len__()",
    "9" * 400,
    "0x" + "f" * 300,
]


def evaluate(text: str, language: Language = LANGUAGE, **values: Any) -> Any:
    return parse_expression(text, language).evaluate({**VALUES, **values})


def problems(text: str, wanted: ValueKind = ANY) -> list[str]:
    with pytest.raises(InvalidExpression) as refusal:
        parse_expression(text, LANGUAGE, wanted)
    return [str(problem) for problem in refusal.value.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("-7 // 2", -4),
        ("7 % 4", 3),
        ("'a' + 'b'", "ab"),
        ("true and not False", True),
        ("null == None", True),
        ("result.size > 14000 and result.name != 'delegate_librarian'", True),
        ("failures[result.name] >= 3", True),
        ("failures['unknown'] >= 3", False),
        ("failures.web_fetch", 1),
        ("state.count or 0", 2),
        ("state.missing or 0", 0),
        ("state.nested.x.y.z", None),
        ("tools[-1].name", "think"),
        ("tools[99]", None),
        ("'think' in [x.name for x in tools]", True),
        ("any(x.size > 5 for x in tools)", True),
        ("all(x.size > 5 for x in tools if x.name != 'think')", False),
        ("sum(x.success for x in tools)", 2),
        ("sum(sizes)", 4.5),
        ("len([x for x in tools if x.success])", 2),
        ("len(x for x in tools)", 3),
        ("min(3, turn)", 3),
        ("max(sizes)", 3),
        ("min([])", None),
        ("'b' if done else 'c'", "c"),
        ("0 < turn <= 5", True),
        ("'vault_read' in failures", True),
        ("'What' not in question", False),
        ("lower(question)", "what is it?"),
        ("text(turn) + text(null) + text(true)", "5true"),
        ("starts_with(question, 'What') and ends_with(question, '?')", True),
        ("matches(result.name, 'vault_*')", True),
        ("matches(result.name, 'vault_????')", True),
        ("matches('a[b]', 'a[b]')", True),
        ("round(2.567, 1)", 2.6),
        ("abs(-3)", 3),
        ("  turn ", 5),
    ],
)
def test_an_expression_is_answered(text: str, value: object) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_what_is_hostile_is_refused_with_a_place_or_has_no_value(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises((InvalidExpression, Unanswerable)) as refusal:
            evaluate(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert len(str(refusal.value)) < 2_000


def test_a_mistake_is_told_with_its_place_and_the_nearest_name() -> None:
    assert problems("turn > 3 and result.sise > 1") == [
        "1:14: there is no 'sise' in tool; did you mean 'size'?"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("question == 'a' && turn.number > 2", "1:17: write and instead of &&"),
        ("question == 'a' || turn.number > 2", "1:17: write or instead of ||"),
        ("turn.number === 2", "1:13: write == instead of ==="),
        ("turn.number !== 2", "1:13: write != instead of !=="),
        ("question = '='", "1:10: write == instead of ="),
        ("turn.number <> 2", "1:13: write != instead of <>"),
        ("turn.number => 2", "1:13: write >= instead of =>"),
        ("question =~ 'a*'", "1:10: write matches(text, pattern) instead of =~"),
        ("not\n  (!turn.answered)", "2:4: write not instead of !"),
    ],
)
def test_operators_of_other_languages_are_told_their_right_form(text: str, problem: str) -> None:
    assert problems(text) == [problem]


@pytest.mark.parametrize("text", ["question == '&&'", 'question == "a = b"', "turn != 2"])
def test_operators_in_texts_are_no_operators(text: str) -> None:
    (problem,) = problems(f"{text} and")
    assert "this is not an expression" in problem
    parse_expression(text, LANGUAGE)


def test_a_text_without_quotes_is_told_to_be_quoted() -> None:
    assert problems("question == vault_search") == [
        "1:13: there is no 'vault_search'; if it is a text, put it in quotes"
    ]


def test_all_mistakes_are_told_at_once_in_their_order() -> None:
    assert problems("trun > 3 and lenght(tools) == 'a' + 1") == [
        "1:1: there is no 'trun'; did you mean 'turn'?",
        "1:14: there is no function 'lenght'; did you mean 'len'?",
        "1:31: + cannot be used on a text and a number",
    ]


def test_places_count_characters_from_the_beginning_of_the_text() -> None:
    assert problems("\n  'äöü' == trun") == ["2:12: there is no 'trun'; did you mean 'turn'?"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question > 3", "a text and a number have no order"),
        ("question == turn", "a text is never equal to a number"),
        ("turn in sizes + 1", "+ cannot be used on a list and a number"),
        ("question in sizes", "a text is never in this: it holds a number"),
        ("1 in turn", "nothing can be in a number"),
        ("turn.size", "a number has no 'size'"),
        ("turn[0]", "a number has no items"),
        ("tools['a']", "an item of a list is taken by a number, not by a text"),
        ("result['size']", "write tool.name, without brackets"),
        ("-question", "- cannot be used on a text"),
        ("lower(turn)", "lower takes a text, not a number"),
        ("len(turn)", "len takes a text or a list or a map, not a number"),
        (
            "sum([question])",
            "sum takes a list of numbers or a list of true or false, not a list of texts",
        ),
        ("[x for x in turn]", "a loop goes over a list, not over a number"),
        ("2 ** 3", "** cannot be used here"),
        ("turn is 3", "write == or != instead of is"),
    ],
)
def test_kinds_that_do_not_fit_are_refused_before_anything_runs(text: str, message: str) -> None:
    (problem,) = problems(text)
    assert problem.split(": ", 1)[1] == message


def test_a_value_of_another_kind_than_wanted_is_refused() -> None:
    assert problems("turn + 1", TRUTH) == ["1:1: expected true or false, not a number"]
    assert problems("null", NUMBER) == ["1:1: expected a number, not nothing"]
    assert parse_expression("state.count", LANGUAGE, NUMBER).kind == ANY
    assert parse_expression("[turn]", LANGUAGE, ListKind(NUMBER)).kind == ListKind(NUMBER)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 + state.missing", "1:1: + cannot be used on a number and nothing"),
        ("turn / (5 - turn)", "1:1: this divides by zero"),
        ("9007199254740992 + 1", "1:1: the number is too large"),
        ("state.words < 5", "1:1: < cannot be used on a list and a number"),
        ("state.words['a']", "1:1: a list has no item for a text"),
        ("-state.words", "1:1: - cannot be used on a list"),
        ("lower(state.count)", "1:1: lower cannot be used on a number"),
    ],
)
def test_what_only_the_facts_can_tell_is_told_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(Unanswerable) as failure:
        evaluate(text)
    assert str(failure.value.problem) == problem


@pytest.mark.parametrize(
    "text",
    [
        "any(x.size > 1000000 for x in tools)",
        "sum(x.size for x in tools)",
        "any(x in tools for x in tools)",
        "any(matches(question, '*a*b?c*') for x in tools)",
    ],
)
def test_no_list_however_long_takes_more_than_its_steps(text: str) -> None:
    tools = [{"name": "a", "size": 1}] * 100_000
    with pytest.raises(Unanswerable, match="too many steps"):
        evaluate(text, tools=tools, question="ab" * 5_000)


@pytest.mark.parametrize("text", ["a", "aab", "ab[", "a\nb", "", "baab"])
@pytest.mark.parametrize(
    "pattern",
    ["", "*", "**", "a", "a*", "*b", "a*b", "*a*b*", "a*a", "*[", "*a*b[", "b*a*b", "a?b"],
)
def test_a_pattern_fits_as_it_does_for_names_of_files(text: str, pattern: str) -> None:
    expected = fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))
    assert evaluate("matches(question, state.p)", question=text, state={"p": pattern}) is expected


def test_no_pattern_compares_more_than_its_steps_allow() -> None:
    """It may be as long as the text, and fit it at every place but for its end."""
    text = "*" + "a" * 16_000 + "B"
    looks = " or ".join(["matches(question, lower(question))"] * 10)
    tools = [{"name": "a", "size": 1}] * 100_000

    def use_all_steps() -> None:
        with suppress(Unanswerable):
            evaluate("sum(x.size for x in tools)", tools=tools)

    most = 5.0
    assert (
        measure_multiple(lambda: evaluate(looks, question=text), use_all_steps, enough=most) <= most
    )
    with pytest.raises(Unanswerable, match="too many steps"):
        evaluate("matches(question, lower(question))", question=f"{text}?")


def test_nothing_hostile_takes_much_work_or_memory() -> None:
    """No more than a few times that for the longest sum."""
    assert len(HOSTILE) >= 100

    def attempt(text: str) -> None:
        with suppress(InvalidExpression, Unanswerable):
            evaluate(text)

    def add_up() -> None:
        assert evaluate("1+" * 119 + "1") == 120

    most = 5.0
    for text in HOSTILE:
        attempt(text)  # what is made once is not counted
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        attempt(text)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak - before < 1_000_000, text
        multiple = measure_multiple(partial(attempt, text), add_up, enough=most)
        assert multiple <= most, text


@pytest.mark.parametrize("comparison", ["tools != tools", "'x' + question < question"])
def test_comparing_what_is_long_costs_steps(comparison: str) -> None:
    tools = [{"name": "a", "size": 1}] * 1_000
    with pytest.raises(Unanswerable, match="too many steps"):
        evaluate(f"any({comparison} for x in tools)", tools=tools, question="x" * 9_000)


def test_a_loop_stops_as_soon_as_its_answer_is_known() -> None:
    assert evaluate("any(x.size == 4 for x in tools)", tools=VALUES["tools"] * 100_000) is True


def test_a_text_cannot_grow_without_end() -> None:
    with pytest.raises(Unanswerable, match="longer than 10,000"):
        evaluate("question + question", question="a" * 6_000)


def test_a_use_of_the_language_may_have_names_of_its_own_only() -> None:
    language = Language(names={"item": TEXT}, functions={})
    assert evaluate("item == 'a'", language, item="a") is True
    with pytest.raises(InvalidExpression):
        evaluate("len(item)", language)
