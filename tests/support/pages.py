"""Reading a page as strictly as its authors should have written it."""

from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}
Attributes = dict[str, str]


class Page(HTMLParser):
    """Elements in order, with their attributes, and what is wrong with how they are nested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, Attributes]] = []
        self.texts: list[tuple[str, str]] = []
        """Pieces of text, each with the element that it is in."""
        self.problems: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        self.problems += [f"<{tag}> is not closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if len({name for name, _ in attrs}) != len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice")
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self._open[-1:]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self._open[-1] if self._open else "", data))

    def all(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text(self, tag: str | None = None) -> str:
        return " ".join(" ".join(text for at, text in self.texts if tag in (None, at)).split())

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """What hostile text must not change: elements and the names of their attributes."""
        return [(tag, tuple(attributes)) for tag, attributes in self.elements]


def problems(html: str) -> list[str]:
    """What is wrong with a whole page: for reading it, for its policy, for those who cannot see."""
    page = Page(html)
    found = [*page.problems]
    if not html.startswith("<!doctype html>"):
        found.append("no doctype")
    if [at.get("lang") for at in page.all("html")] != ["en"]:
        found.append("no language")
    found += [f"{n} <{tag}>" for tag in ("title", "h1", "main") if (n := len(page.all(tag))) != 1]
    if not page.text("title"):
        found.append("an empty title")
    ids = Counter(at["id"] for _, at in page.elements if "id" in at)
    found += [f"id {name!r} is there {n} times" for name, n in ids.items() if n > 1]
    found += _skipped_headings(page)
    found += _against_the_policy(page)
    found += _unlabelled(page, set(ids))
    found += _unguarded_forms(page)
    return found


def _skipped_headings(page: Page) -> list[str]:
    """Where one comes two levels or more below the one before it."""
    levels = [int(tag[1]) for tag, _ in page.elements if tag in HEADINGS]
    return [f"h{next_} after h{level}" for level, next_ in pairwise(levels) if next_ > level + 1]


def _against_the_policy(page: Page) -> list[str]:
    inline = [
        f"<{tag} {name}>"
        for tag, attributes in page.elements
        for name in attributes
        if name == "style" or name.startswith("on")
    ]
    elsewhere = [
        f"<{tag}> of {at.get('src') or at.get('href')}"
        for tag, at in page.elements
        if tag in {"script", "link", "img"}
        and not (at.get("src") or at.get("href") or "").startswith("/static/")
    ]
    return inline + elsewhere + ["<style>"] * len(page.all("style"))


def _unlabelled(page: Page, ids: set[str]) -> list[str]:
    labelled = {at.get("for") for at in page.all("label")}
    inputs = [at for at in page.all("input") if at.get("type") != "hidden"]
    nameless = [f"input {at}" for at in inputs if at.get("id") not in labelled]
    references = [
        (name, target)
        for _, attributes in page.elements
        for name in ("aria-describedby", "aria-labelledby", "for")
        for target in attributes.get(name, "").split()
    ]
    return nameless + [f"{name} leads nowhere: {to}" for name, to in references if to not in ids]


def _unguarded_forms(page: Page) -> list[str]:
    posting = [at for at in page.all("form") if at.get("method") == "post"]
    tokens = [at for at in page.all("input") if at.get("name") == "csrfmiddlewaretoken"]
    return ["a form without a token"] if len(posting) != len(tokens) else []
