"""Markdown that is dear to parse: every shape that we know of, at any size.

The ideas are those of the pathological tests of CommonMark and of cmark-gfm, and of what our own
rules read: citations, tables, addresses, fences, mending, growth.
"""

from collections.abc import Callable
from itertools import count

Shape = Callable[[int], str]

SENTENCE = "The quarter closed with a small surplus, because the hire moved to May, as agreed. "


def repeat(unit: str, before: str = "") -> Shape:
    return lambda size: before + (unit * (size // len(unit) + 1))[: max(0, size - len(before))]


def halves(left: str, right: str, middle: str = "a") -> Shape:
    """So many of one, then as many of the other."""
    unit = len(left) + len(right)
    return lambda size: left * (size // unit) + middle + right * (size // unit)


def numbered(form: str) -> Shape:
    """Each a little different from the one before."""

    def made(size: int) -> str:
        found: list[str] = []
        length = 0
        for number in count():
            if length >= size:
                return "".join(found)[:size]
            found.append(form.format(number, ticks="`" * (number % 90 + 1)))
            length += len(found[-1])
        raise AssertionError

    return made


def in_lines(width: int, unit: str) -> Shape:
    """Paragraphs of so many characters, each all of one unit."""
    return repeat((unit * width)[:width] + "\n\n")


def prose(size: int) -> str:
    """What people write: the measure for the others."""
    return repeat(SENTENCE * 6 + "\n\n")(size)


SHAPES: dict[str, Shape] = {
    # brackets and links
    "open brackets": repeat("["),
    "closed brackets": repeat("]"),
    "nested brackets": halves("[", "]"),
    "brackets in paragraphs": in_lines(400, "["),
    "brackets in short lines": repeat("[[[[[[[[[[[[[[[[[[[\n"),
    "link openers": repeat("[a]("),
    "link openers with angles": repeat("[a](<b"),
    "half links": repeat("[a](b"),
    "nested links": halves("[", "](b)"),
    "links": repeat("[a](b) "),
    "links with titles": repeat('[a](b "c") '),
    "titles that never end": repeat('[a](b "c'),
    "parentheses in an address": repeat("[a](((((((("),
    "pairs of brackets": repeat("[]"),
    "empty links": repeat("[]()"),
    "image openers": repeat("!["),
    "embed openers": repeat("![["),
    "wikilinks": repeat("[[a]] "),
    "nested images": halves("![", "](b)"),
    "images in links": repeat("[![a](b)](c) "),
    "references": repeat("[a][b] "),
    "reference definitions": repeat("[a]: /b\n"),
    "definitions of their own": numbered("[a{0}]: /b\n"),
    "footnotes": repeat("[^a]: b\n[^a] "),
    # citations
    "citation openers": repeat("[a.md:1"),
    "citations": repeat("[a.md:1] "),
    "different citations": numbered("[a{0}.md:{0}] "),
    "citations of nothing": repeat("[a b c] "),
    "citations with ranges": repeat("[a.md:1-2]("),
    "citations in links": repeat("[[a.md:1](b) "),
    # emphasis
    "stars": repeat("*"),
    "star openers": repeat("*a "),
    "star closers": repeat("a* "),
    "stars both ways": repeat("a*"),
    "pairs of stars": repeat("*a* "),
    "stars and lines": repeat("*a _b "),
    "alternating marks": repeat("*_"),
    "nested emphasis": halves("*a _", "_ a*"),
    "strong in strong": halves("**a ", " b**"),
    "three stars": repeat("***a** b* "),
    "strikes": repeat("~~a "),
    "single strikes": repeat("~a~ "),
    "marks, brackets and ticks": repeat("*_[`"),
    "marks before a bracket": repeat("*[a_b]( "),
    # code
    "ticks": repeat("`"),
    "ticks of all lengths": numbered("a{ticks}"),
    "ticks that differ": repeat("```a``"),
    "code spans": repeat("`a` "),
    "fences": repeat("```\na\n```\n"),
    "fences that differ": repeat("```\n~~~\n"),
    "coloured fences": repeat("```py\na = [1]\n```\n"),
    "odd code": repeat("(((((((((([[[[{{{{'''\"\"\"\\\n", before="```js\n"),
    "fences in items": repeat("- ```\n  a\n"),
    "indented code": repeat("    a\n\nb\n\n"),
    # blocks
    "headings": repeat("# a\n"),
    "heading marks": repeat("#"),
    "empty headings": repeat("#\n"),
    "headings with ends": repeat("# a #######\n"),
    "setext headings": repeat("a\n=\n"),
    "setext with dashes": repeat("a\n-\n"),
    "rules": repeat("***\n"),
    "quote marks": repeat(">"),
    "quotes": repeat("> a\n"),
    "quotes apart": repeat("> a\n\n"),
    "nested quotes": repeat("> > > > > > > > a\n"),
    "quotes of every depth": numbered("> > > a{0}\n> b\n"),
    "quotes with lists": repeat("> - "),
    "lazy quotes": repeat("> a\nb\n"),
    "items": repeat("- a\n"),
    "empty items": repeat("-\n"),
    "items in one line": repeat("- "),
    "stars as items": repeat("* "),
    "items of every mark": repeat("- a\n+ b\n* c\n"),
    "numbered items": numbered("{0}. a\n"),
    "loose items": repeat("- a\n\n"),
    "tasks": repeat("- [ ] a\n"),
    "deep items": lambda size: "".join(f"{'  ' * (n % 150)}- a\n" for n in range(size // 150)),
    "deep and wide items": repeat("- a\n  - b\n    - c\n      - d\n"),
    "items with rules": repeat("- a\n- ***\n"),
    "empty lines": repeat("\n"),
    "lines of one letter": repeat("a\n"),
    "paragraphs of one letter": repeat("a\n\n"),
    "spaces": repeat("a   \n"),
    "tabs": repeat("\ta\n"),
    "returns": repeat("a\r"),
    # tables
    "table": repeat("|a|b|\n", before="|a|b|\n|-|-|\n"),
    "wide table": lambda size: "".join(
        "|" + unit * (size // 300) + "\n" for unit in ("a|", "-|", *["b|"] * 148)
    ),
    "short rows": repeat("|\n", before="|a" * 200 + "|\n" + "|-" * 200 + "|\n"),
    "heads of tables": repeat("|a|\n|-|\n\n"),
    "pipes": repeat("|"),
    "pipes with bars": repeat("a|b\n-|-\n"),
    "escaped pipes": repeat("|a\\|b|\n", before="|a|\n|-|\n"),
    # the rest of inline
    "backslashes": repeat("\\"),
    "escapes": repeat("\\*"),
    "entities": repeat("&amp;"),
    "entities that are none": repeat("&a"),
    "numeric entities": repeat("&#0;&#x10ffff;"),
    "ampersands": repeat("&"),
    "angles": repeat("<"),
    "tags": repeat("<a href='b'>"),
    "comments that never end": repeat("<!-- a "),
    "processing instructions": repeat("<?"),
    "declarations": repeat("<!A "),
    "html blocks": repeat("<div>\n\n"),
    "autolinks": repeat("<https://a.example/b> "),
    "mail in angles": repeat("<a@b.example> "),
    "bare addresses": repeat("https://a.example/b "),
    "addresses with brackets": repeat("https://a.example/)))"),
    "addresses with stars": repeat("https://a.example/*"),
    "schemes": repeat("http://"),
    "hard breaks": repeat("a\\\n"),
    "exclamation marks": repeat("!"),
    "brackets after an address": repeat("https://a.example/" + ")" * 2_900 + " "),
    "runs of spaces": repeat("a" + " " * 2_900 + "1"),
    "lines of spaces": repeat(" " * 2_900 + "\n- a"),
    "colons and digits": repeat("[" + ":1" * 149),
    "dollars": repeat("$a$ "),
    "colons": repeat(":"),
    "wide characters": repeat("\u6f22\U0001f30a*\u00e9*"),
    "zero-width characters": repeat("\u200b*\u200b"),
    "odd characters": repeat("\x00\ud83d"),
}
