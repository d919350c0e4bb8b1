"""Answers to stream, ways to cut them, and what their HTML may hold."""

import re
from collections.abc import Iterator

from hypothesis import strategies as st

from chat.markdown import MarkdownStream
from tests.support.dom import Element, read

ANSWER = """\
# The budget

The **first quarter** closed with a *small* surplus [notes/budget.md:12]; see `travel` and
the [ledger](https://example.com/ledger?a=1&b=2). Half of it is ~~gone~~ spent.

- Salaries: on plan
- Travel
  1. Rome
  2. Oslo

  It rained.
- [x] Audit

> The plan is a question,
continued lazily.

| line | plan |
|:-----|-----:|
| rent | `1`  |

```python
def left(plan: int) -> int:
    return plan - 1  # "so far"
```

Setext
------

1. one

   still one
2. two
***
    indented code

    goes on
![chart](https://example.com/chart.png) and https://example.com/a_(b).

[1]: https://example.com/footnote
"""

LINES = [
    "some words", "**bold** and `code`", "", "", "# head", "###### six", "---", "***", "===",
    "- item", "- [ ] task", "* star", "+ plus", "1. one", "2. two", "7) seven", "  two",
    "   three", "    four", "\ttab", "- - x", "```", "```py", "~~~", "````", "> quote", ">",
    "> - inner", "> ```", "| a | b |", "|---|---|", "| 1 | 2 | 3 |", "a|b", "-|-", "  - nested",
    "- ```", "  ```", "-", "![a](http://a.example/b.png)", "[a](/b)", "[c]: http://c.example",
    "**", "`", "<b id=x>", "\\",
]  # fmt: skip
"""Lines that begin, go on with and end every kind of block."""

soups = st.lists(
    st.tuples(st.sampled_from(LINES), st.sampled_from(["\n", "\n", "\r\n", "\r", ""])), max_size=30
).map(lambda pairs: "".join(line + end for line, end in pairs))
letters = st.text(
    st.one_of(st.sampled_from(" \n\r\t-*_`~[]()<>#|1.:!&\\ab\0"), st.characters()), max_size=80
)
texts = st.one_of(soups, letters)
"""Markdown of a kind, and anything: lone surrogates too."""


@st.composite
def cut(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text, and the same text as deltas."""
    text = draw(texts)
    places = draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    return text, [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def streamed(deltas: Iterator[str] | list[str], *, tails: bool = True) -> list[str]:
    """The blocks that a page gets. Looking at the tail in between must not matter."""
    stream = MarkdownStream()
    blocks: list[str] = []
    for delta in deltas:
        blocks += stream.feed(delta)
        if tails:
            stream.render_open_block()
    return blocks + stream.flush()


def tokens(text: str) -> list[str]:
    """About as models cut text."""
    return re.findall(r"\s?\w{1,5}|\s|[^\w\s]", text)


def text_of(html: str) -> str:
    return read(html).text


ALLOWED = {
    "a": {"href", "target", "rel", "class"}, "blockquote": set(), "br": set(), "code": {"class"},
    "div": {"class", "tabindex"}, "em": set(), "h3": set(), "h4": set(), "h5": set(),
    "h6": set(), "hr": set(), "li": {"class"}, "ol": {"start", "class"}, "p": {"class"},
    "pre": {"tabindex"}, "s": set(), "span": {"class"}, "strong": set(), "table": {"class"},
    "tbody": set(), "td": {"class"}, "th": {"class"}, "thead": set(), "tr": set(),
    "ul": {"class"},
}  # fmt: skip
"""Written out here and not imported: a list that grows by mistake has to be noticed."""
CLASSES = {
    "a": r"cite", "code": r"language-[a-z]+", "div": r"code|code-head|more|table",
    "li": r"task", "ol": r"more", "p": r"plain", "ul": r"more", "table": r"more",
    "td": r"left|center|right", "th": r"left|center|right",
    "span": r"c|gd|gi|k|m|na|nb|nf|s",
}  # fmt: skip
_SCHEME = re.compile(r"[\x00-\x20]*([a-z][a-z0-9+.\s-]*):", re.IGNORECASE)


def problems(html: str) -> list[str]:
    """What should not be in a block. HTML that is not balanced raises."""
    return [problem for element in read(html).walk() for problem in _problems(element)]


def _problems(element: Element) -> Iterator[str]:
    tag, attributes = element.tag, element.attributes
    if not set(attributes) <= ALLOWED.get(tag, set()) or tag not in ALLOWED:
        yield f"{tag} {attributes}"
    for name in attributes.get("class", "").split():
        if not re.fullmatch(CLASSES.get(tag, ""), name):
            yield f"{tag} of class {name}"
    if tag == "a":
        yield from _link_problems(attributes)


def _link_problems(attributes: dict[str, str]) -> Iterator[str]:
    href = attributes.get("href", "")
    scheme = _SCHEME.match(href)
    if scheme and scheme[1].lower() not in ("http", "https", "mailto"):
        yield f"a link to {href}"
    if attributes.get("rel") != "noopener noreferrer nofollow":
        yield f"a link with rel {attributes.get('rel')}"
    if href.lower().startswith(("http:", "https:", "//")) and "target" not in attributes:
        yield f"a link that takes the chat away to {href}"
