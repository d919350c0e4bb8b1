"""Notes as Obsidian and people write them: what is a link or a tag, and what only looks so."""

import math
from collections.abc import Callable

import pytest

from agents.vault.parsing import Link, ParsedNote, parse_note
from tests.support.timing import assert_in_proportion


def parse(text: str, path: str = "folder/Note.md") -> ParsedNote:
    return parse_note(path, text)


def targets(text: str) -> list[str]:
    return [link.target for link in parse(text).links]


def the_link(text: str) -> Link:
    (link,) = parse(text).links
    return link


LINKS: dict[str, tuple[str, list[tuple[str, str, str, str]]]] = {
    "wikilink": ("See [[Plan]].", [("wikilink", "Plan", "", "")]),
    "with_an_alias": ("[[Plan|the plan]]", [("wikilink", "Plan", "", "the plan")]),
    "with_a_folder": ("[[Work/Plan]]", [("wikilink", "Work/Plan", "", "")]),
    "with_its_suffix": ("[[Plan.md]]", [("wikilink", "Plan.md", "", "")]),
    "to_a_heading": ("[[Plan#Goals]]", [("wikilink", "Plan", "Goals", "")]),
    "to_nested_headings": ("[[Plan#a#b|x]]", [("wikilink", "Plan", "a#b", "x")]),
    "hash_in_a_name": ("[[C# and F#|x]]", [("wikilink", "C", " and F#", "x")]),
    "to_a_block": ("[[Plan#^x1]]", [("wikilink", "Plan", "^x1", "")]),
    "within_the_note": ("[[#here]]", [("wikilink", "", "here", "")]),
    "embedded_note": ("![[Plan#Goals]]", [("embed", "Plan", "Goals", "")]),
    "picture_with_its_size": ("![[a b.png|300x200]]", [("embed", "a b.png", "", "300x200")]),
    "escaped_bar_in_a_table": (
        "| [[a\\|b]] | [[c#d\\|e]] |",
        [("wikilink", "a", "", "b"), ("wikilink", "c", "d", "e")],
    ),
    "two_in_a_line": ("[[a]][[b]]", [("wikilink", "a", "", ""), ("wikilink", "b", "", "")]),
    "three_brackets": ("[[[a]]]", [("wikilink", "a", "", "")]),
    "brackets_in_the_name": ("[[a [b] c]]", [("wikilink", "a [b] c", "", "")]),
    "spaces_around": ("[[ a | b ]]", [("wikilink", "a", "", "b")]),
    "in_a_callout": ("> [!note] See [[a]]\n> [[b]]", [
        ("wikilink", "a", "", ""), ("wikilink", "b", "", "")]),
    "in_a_task": ("- [ ] [[a]]\n- [x] [[b]]", [
        ("wikilink", "a", "", ""), ("wikilink", "b", "", "")]),
    "in_a_footnote": ("[^1]: [[a]]", [("wikilink", "a", "", "")]),
    "in_a_highlight": ("==[[a]]==", [("wikilink", "a", "", "")]),
    "in_a_deep_list": ("- a\n\n    [[b]]\n", [("wikilink", "b", "", "")]),
    "markdown": ("[x](b.md)", [("markdown", "b.md", "", "x")]),
    "markdown_escaped": ("[x](../a%20b/c.md#d%20e)", [("markdown", "../a b/c.md", "d e", "x")]),
    "markdown_in_angle_brackets": ("[x](<a b.md#c>)", [("markdown", "a b.md", "c", "x")]),
    "markdown_with_a_title": ('[x](b.md "t (u)")', [("markdown", "b.md", "", "x")]),
    "markdown_with_brackets": ("[x](a(1).md)", [("markdown", "a(1).md", "", "x")]),
    "markdown_image": ("![x](p.png)", [("image", "p.png", "", "x")]),
    "markdown_within_the_note": ("[x](#y)", [("markdown", "", "y", "x")]),
    "markdown_hash_in_the_name": ("[x](C%23.md)", [("markdown", "C#.md", "", "x")]),
    "picture_that_is_a_link": ("[![a](p.png)](b.md)", [
        ("markdown", "b.md", "", "![a](p.png)"), ("image", "p.png", "", "a")]),
    "after_code": ("`x` [[a]]", [("wikilink", "a", "", "")]),
    "after_a_fence_in_a_quote_is_left": ("> ```\n> [[a]]\n\n[[b]]", [("wikilink", "b", "", "")]),
    "prices_are_no_mathematics": ("$5 [[a]] and $6", [("wikilink", "a", "", "")]),
    "after_a_lone_comment_mark": ("100%% sure\n\n[[a]]", [("wikilink", "a", "", "")]),
    "definition": ("[x][r] #t\n\n[r]: a%20b/c.md#h", [("markdown", "a b/c.md", "h", "r")]),
    "definition_with_a_title": ("[r]: <a b.md> 'T'", [("markdown", "a b.md", "", "r")]),
    "in_an_excalidraw_text": ("# Text Elements\n[[a]] ^x1", [("wikilink", "a", "", "")]),
}  # fmt: skip

NO_LINKS = {
    "inline_code": "`[[a]]`",
    "double_backticks": "``[[a]] ` [[b]]``",
    "fence": "```\n[[a]]\n```",
    "tilde_fence": "~~~dataview\n[[a]]\n~~~",
    "fence_in_a_quote": "> text\n> ```\n> [[a]]\n> ```",
    "fence_in_a_nested_quote": "> > ```\n> > [[a]]\n> > ```",
    "fence_in_a_list": "- item\n  ```\n  [[a]]\n  ```",
    "fence_on_the_line_of_an_item": "- ```\n  [[a]]\n  ```",
    "fence_in_a_numbered_list": "1. item\n   ~~~\n   [[a]]\n   ~~~",
    "longer_fence": "````\n```\n[[a]]\n```\n[[b]]\n````",
    "fence_of_another_kind_within": "~~~\n```\n[[a]]\n~~~",
    "fence_that_is_never_closed": "```\n[[a]]\n\n[[b]]",
    "indented_code": "text\n\n    [[a]]\n",
    "comment": "%% [[a]] %%",
    "comment_over_lines": "%%\n[[a]]\n\n[[b]]\n%%",
    "mathematics": "$[[1,2],[3,4]]$",
    "mathematics_over_lines": "$$\n[[1,2]]\n$$",
    "escaped": "\\[[a]]",
    "empty": "[[]] [[|x]] [[ ]]",
    "not_closed": "[[a",
    "over_two_lines": "[[a\nb]]",
    "address": "[x](https://example.org/a.md) [y](mailto:a@example.org) [z](//example.org)",
    "definition_of_an_address": "[x]: https://example.org/a.md",
    "footnote": "[^1]: word",
    "label_before_prose": "[note]: this is said of it",
    "definition_in_code": "```\n[r]: a.md\n```",
    "too_long": f"[[{'a' * 600}]]",
}


@pytest.mark.parametrize(("text", "expected"), LINKS.values(), ids=LINKS)
def test_links_are_found(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    found = parse(text).links
    assert [(link.kind, link.target, link.fragment, link.label) for link in found] == expected
    lines = text.splitlines()
    for link in found:
        assert lines[link.line][link.start : link.end] == link.written


@pytest.mark.parametrize("text", NO_LINKS.values(), ids=NO_LINKS)
def test_what_only_looks_like_a_link_is_none(text: str) -> None:
    assert targets(text) == []


def test_links_in_frontmatter_are_links() -> None:
    text = '---\nup: "[[Plan]]"\nrelated:\n  - "[[a|b]]"\n---\n[[c]]\n'
    found = [(link.line, link.target) for link in parse(text).links]
    assert found == [(1, "Plan"), (3, "a"), (5, "c")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_alike_for_every_line_end(end: str) -> None:
    link = the_link(f"a{end}{end}b\x0c\u2028 [[c]]{end}")
    assert (link.line, link.start) == (2, 4)


TAGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "in_the_body": ("a #tag, b", ("tag",)),
    "nested": ("#a/b/c", ("a/b/c",)),
    "with_a_hyphen_and_numbers": ("#y2024-01_x", ("y2024-01_x",)),
    "in_other_scripts": ("#größe #日本 #🎉", ("größe", "日本", "🎉")),
    "in_a_list_property": ("---\ntags: [a, b/c]\n---\n", ("a", "b/c")),
    "below_their_property": ("---\ntags:\n- a\n  - '#b'\n---\n", ("a", "b")),
    "as_a_bare_string": ("---\ntags: a b, c\n---\n", ("a", "b", "c")),
    "with_a_hash_in_a_property": ("---\ntags: #a\n---\n", ("a",)),
    "by_the_other_name": ("---\nTag: a\n---\n", ("a",)),
    "both": ("---\ntags: a\n---\n#b #a", ("a", "b")),
    "in_brackets": ("(#a) **#b**", ("a", "b")),
    "words_of_hexadecimal_letters": ("#cafe #decade", ("cafe", "decade")),
    "numbers_are_none": ("issue #123 and #2024", ()),
    "colours_are_none": ("#fff #FFF000 #1a2b3c4d", ()),
    "colours_in_a_style": ('<i style="color:#abcdef">', ()),
    "headings_are_none": ("# heading\n## other", ()),
    "addresses_are_none": ("https://example.org/#part", ()),
    "headings_of_links_are_none": ("[[a #b]] [x](#y) [[#z]]", ()),
    "words_with_a_hash_are_none": ("C# and a#b", ()),
    "code_is_none": ("`#a`\n```\n#b\n```\n", ()),
    "comments_are_none": ("%% #a %%", ()),
    "escaped_is_none": ("\\#a", ()),
    "slashes_alone": ("#/ #a//b/", ("a/b",)),
    "entities_are_none": ("&#123;", ()),
}


@pytest.mark.parametrize(("text", "expected"), TAGS.values(), ids=TAGS)
def test_tags_are_found(text: str, expected: tuple[str, ...]) -> None:
    assert parse(text).tags == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\naliases: [a, 'b, c']\n---\n", ("a", "b, c")),
        ("---\naliases:\n  - a\n  - b: c\n---\n", ("a", "b: c")),
        ("---\nalias: a\n---\n", ("a",)),
        ("---\naliases:\n---\n", ()),
        ("---\naliases: []\n---\n", ()),
    ],
)
def test_aliases_are_found(text: str, expected: tuple[str, ...]) -> None:
    assert parse(text).aliases == expected


def test_headings_and_blocks_are_found_outside_of_code() -> None:
    note = parse("# One #\n\ntext ^b1\n\n```\n# no\n```\n\n### Two\n- item ^B-2\n#tag\n")
    assert [(h.line, h.level, h.text) for h in note.headings] == [(0, 1, "One"), (8, 3, "Two")]
    assert note.blocks == {"b1": 2, "b-2": 9}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'Of the: sea'\n---\n# Other", "Of the: sea"),
        ("\n\n## First  heading\ntext\n# Second", "First heading"),
        ("text\n\n# A heading of a part", "Note"),
        ("no heading", "Note"),
        ("", "Note"),
        ("\ufeff# With a mark\r\n", "With a mark"),
    ],
)
def test_a_title_is_given_or_the_heading_at_the_beginning_or_the_name(
    text: str, title: str
) -> None:
    assert parse(text).title == title


def test_a_canvas_has_the_links_and_texts_of_its_cards() -> None:
    cards = (
        '{"nodes":[{"type":"file","file":"Work/Plan.md"},{"type":"text","text":"See [[a]] #b"},'
        '{"type":"group","label":"G"}, 3, {"type":"text"}]}'
    )
    note = parse(cards, "board.canvas")
    assert [link.target for link in note.links] == ["Work/Plan.md", "a"]
    assert note.tags == ("b",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"nodes":1}', "[" * 100_000, "null"])
def test_a_canvas_that_is_none_says_nothing(text: str) -> None:
    assert parse(text, "board.canvas").links == ()


HOSTILE: dict[str, Callable[[int], str]] = {
    "nested_brackets_in_frontmatter": lambda size: "---\nx: " + "[" * size + "\n---\n",
    "quotes_in_frontmatter": lambda size: "---\nx: [" + "'" * size + "]\n---\n",
    "long_value_in_frontmatter": lambda size: "---\na: b\n" + " c\n" * (size // 3) + "---\n",
    "opening_brackets": lambda size: "[[" * (size // 2),
    "pairs": lambda size: "[[a]]" * (size // 5),
    "destinations": lambda size: "](x)" * (size // 4),
    "titles": lambda size: "[a](b " * (size // 6),
    "definition": lambda size: "[a]: " + "b" * (size // 2) + " " * (size // 2) + "x",
    "definitions": lambda size: "[a]: b\n" * (size // 7),
    "angle_brackets": lambda size: "](<" * (size // 3),
    "backticks": lambda size: "".join("`" * n + " " for n in range(1, math.isqrt(2 * size))),
    "comment_marks": lambda size: "%% " * (size // 3),
    "comment_lines": lambda size: "%%\n" * (size // 3),
    "dollars": lambda size: "$a " * (size // 3),
    "hashes": lambda size: " #a" * (size // 3),
    "quotes": lambda size: ">" * size,
    "lists": lambda size: "- " * (size // 2),
    "blanks": lambda size: " " * size + "x",
    "carets": lambda size: "^a" * (size // 2),
    "long_note": lambda size: "Some words and a [[link]] in a line of text #tag.\n" * (size // 50),
}


@pytest.mark.parametrize("build", HOSTILE.values(), ids=HOSTILE)
def test_every_text_is_read_in_time_that_grows_with_its_length(build: Callable[[int], str]) -> None:
    assert_in_proportion(parse, build, size=80_000)
