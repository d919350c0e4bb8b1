"""TOML that somebody wrote: what is taken, and where each mistake is said to be."""

import random
import tomllib
from typing import Any

import pytest

from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind
from agents.core.control.language import Language
from agents.core.control.toml import InvalidToml, TomlDocument, TomlKey, TomlTable, read_toml
from agents.core.control.toml_places import Path, TomlPlaces

SCHEMA = TomlTable(
    {
        "rule": TomlTable(
            {
                "id": TomlKey(TEXT, default="", is_required=True, at_most=20),
                "priority": TomlKey(NUMBER, default=100, at_least=1, at_most=1_000, is_whole=True),
                "once": TomlKey(TRUTH, default=False),
                "mode": TomlKey(TEXT, default="on", words=("on", "off", "shadow")),
                "to": TomlKey(ListKind(TEXT), default=[], words=("user", "model")),
                "again_after": TomlKey(NUMBER, words=("run",)),
                "about": TomlKey(MapKind(ANY)),
                "when": TomlKey(TEXT),
            },
            is_required=True,
        ),
        "action": TomlTable({"type": TomlKey(TEXT, is_required=True)}, is_list=True, at_most=2),
    }
)
LANGUAGE = Language(names={"size": NUMBER, "tool": TEXT})


def read(*lines: str) -> TomlDocument:
    return read_toml("\n".join(lines), SCHEMA)


def find_problems(*lines: str) -> list[str]:
    with pytest.raises(InvalidToml) as caught:
        read(*lines).check()
    return list(map(str, caught.value.problems))


def test_values_are_taken_and_what_is_left_out_has_its_default() -> None:
    document = read(
        "[rule]",
        'id = "a"',
        "about = {path = 'b'}",
        "[[action]]",
        'type = "log"',
        "[[action]]",
        'type = "stop"',
    )
    document.check()
    assert document.values["rule"]["id"] == "a"
    assert document.values["rule"]["mode"] == "on"
    assert document.values["rule"]["again_after"] is None
    assert document.values["rule"]["about"] == {"path": "b"}
    assert [action["type"] for action in document.values["action"]] == ["log", "stop"]


def test_a_number_may_be_a_word_where_the_schema_says_so() -> None:
    for written, value in (('"run"', "run"), ("2.5", 2.5)):
        document = read("[rule]", 'id = "a"', f"again_after = {written}")
        document.check()
        assert document.values["rule"]["again_after"] == value


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("  prioritty = 1", "3:3: there is no key 'prioritty' in [rule]; did you mean 'priority'?"),
        ("priority = 'x'", "3:12: expected a number, not a text"),
        ("priority = true", "3:12: expected a number, not true or false"),
        ("priority = 1.5", "3:12: expected a whole number"),
        ("priority = 0", "3:12: expected at least 1"),
        ("priority = 1001", "3:12: at most 1,000 can be used here"),
        ("priority = nan", "3:12: this is not a number that can be used"),
        ("once = 1979-05-27", "3:8: a date or time cannot be used here: write it as a text"),
        ("once = 1", "3:8: expected true or false, not a number"),
        ("mode = 'shadw'", "3:8: 'shadw' is not one of on, off, shadow; did you mean 'shadow'?"),
        (
            "to = ['user', 'modell']",
            "3:15: 'modell' is not one of user, model; did you mean 'model'?",
        ),
        ("to = ['user', 7]", "3:15: expected a text, not a number"),
        ("to = 'user'", "3:6: expected a list, not a text"),
        ("again_after = 'never'", "3:15: expected a number, not a text"),
        ("[actions]", "3:2: there is no table 'actions'; did you mean 'action'?"),
        ("[action]", "3:2: this is written as a list of tables: [[action]]"),
        ("[[action]]", "3:3: the key 'type' is missing in [[action]]"),
        ("id = 'b'", "3:9: this is not TOML (cannot overwrite a value)"),
        ("once = ", "3:8: this is not TOML (invalid value)"),
    ],
)
def test_each_mistake_is_told_with_its_place(line: str, problem: str) -> None:
    assert find_problems("[rule]", "id = 'a'", line) == [problem]


def test_all_mistakes_are_told_at_once_and_in_order() -> None:
    assert find_problems("[rule]", "mode = 1", "[[action]]", "[[action]]", "typ = ''") == [
        "1:2: the key 'id' is missing in [rule]",
        "2:8: expected a text, not a number",
        "3:3: the key 'type' is missing in [[action]]",
        "4:3: the key 'type' is missing in [[action]]",
        "5:1: there is no key 'typ' in [[action]]; did you mean 'type'?",
    ]


def test_a_missing_table_is_told_at_the_beginning() -> None:
    problems = ["1:1: the key 'id' is missing in [rule]", "1:1: the table [rule] is missing"]
    assert find_problems("") == problems


def test_a_list_of_tables_is_bounded() -> None:
    text = ["[rule]", "id = 'a'", *["[[action]]", "type = 'log'"] * 3]
    assert find_problems(*text) == ["7:3: more than 2 of these"]


def test_what_is_too_long_or_too_deep_is_not_read() -> None:
    assert find_problems("#" * 5_000) == ["1:1: this is longer than 4,096 characters"]
    assert find_problems("a = " + "[" * 4_000) == ["1:1: this is nested too deeply"]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("when = 'size > 1 and siz > 2'", "3:22"),
        (r'when = "tool == \"a\" and siz > 2"', "3:27"),
        (r'when = "tool == \u0022a\u0022 and siz > 2"', "3:35"),
        ('when = """size > 1 and siz > 2"""', "3:24"),
        ('when = """\nsize > 1 and \\\n   siz > 2"""', "5:4"),
        ("when = '''\n(size > 1 and\n siz > 2)'''", "5:2"),
        ("when = 'tool == \"ä\" and siz > 2'", "3:25"),
    ],
)
def test_a_mistake_inside_an_expression_is_told_where_it_stands(line: str, place: str) -> None:
    document = read("[rule]", "id = 'a'", line)
    assert document.parse_expression(("rule", "when"), LANGUAGE, TRUTH) is None
    assert list(map(str, document.problems)) == [
        f"{place}: there is no 'siz'; did you mean 'size'?"
    ]


def test_an_expression_that_is_right_is_returned() -> None:
    document = read("[rule]", "id = 'a'", r'when = "tool == \"a\""')
    expression = document.parse_expression(("rule", "when"), LANGUAGE, TRUTH)
    assert expression is not None
    assert expression.evaluate({"tool": "a"})
    assert document.parse_expression(("rule", "again_after"), LANGUAGE) is None


def test_a_reader_can_refuse_a_value_a_name_and_what_is_not_there() -> None:
    document = read("[rule]", "id = 'a'")
    document.refuse(("rule", "id"), "taken")
    document.refuse_name(("rule", "id"), "odd")
    document.refuse(("rule", "when"), "missing")
    document.refuse(("action", 3, "type"), "nowhere")
    assert sorted(map(str, document.problems)) == [
        "1:1: nowhere",
        "1:2: missing",
        "2:1: odd",
        "2:6: taken",
    ]


# -- places of every value ------------------------------------------------------------------------


def walk(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[Path, Any]] = []
    for name, item in inner:
        found.append(((*path, name), item))
        if isinstance(item, dict | list):
            found += walk(item, (*path, name))
    return found


WRITTEN = [
    "{}", "'a{}b'", "true", "1979-05-27 07:32:00", '"\\tä{}\\u00e4"', "'c{}\\'", '""', "''",
    '"""\nd{}\\\n   e""f"""""', "'''\ng''{}h'''''", "[{}, # two\n 'x]', [ ]\n,]",
    "{{ a.b = 'y{}}}', \"c d\" = [ {{e={}}} ] }}",
]  # fmt: skip
NAMES = ["a", "b-c", '"d.e"', "'f g'", "h . i", "1234"]
HEADERS = ["[t{}]", "[[l{}]]", "[ t{} . 'x y' ]"]


def write_random(dice: random.Random) -> str:
    lines: list[str] = []
    for number in range(dice.randint(1, 6)):
        header = dice.choice(HEADERS)
        for _ in range(dice.randint(1, 3) if header.startswith("[[") else 1):
            lines.append(header.format(number) + "  # [no] = 1")
            for name in dice.sample(NAMES, dice.randint(0, 4)):
                unique = 10_000 + len(lines)
                lines.append(f"{name} = {dice.choice(WRITTEN).format(unique, unique)} # c = 1")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(100))
def test_every_value_of_a_random_text_has_the_place_where_it_is_written(seed: int) -> None:
    text = write_random(random.Random(seed))
    places = TomlPlaces(text)
    for path, value in walk(tomllib.loads(text)):
        if isinstance(value, str):
            offsets = places.characters[path]
            assert len(offsets) == len(value) + 1
            assert all(text[at] in (sign, "\\") for at, sign in zip(offsets, value, strict=False))
        elif type(value) is int:
            assert text.startswith(str(value), places.values[path])
        if isinstance(path[-1], str):
            assert text[places.names[path] :].lstrip("\"'").startswith(path[-1])
