"""A page as a browser has it, as far as frames need one: elements, ids, swaps.

    page = Dom(html)
    page.apply(frame)  # as htmx's ws extension and the hook in frames.js do
    assert page == Dom(reloaded)

Read strictly: what a browser would have to mend is an error here, so that what is compared is what
was written.
"""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
HOLDS_BLOCKS = frozenset({"", "article", "details", "div", "ol", "ul"})
"""Where white space between elements is not seen."""
SWAP = "hx-swap-oob"
GROWN = re.compile(r"\+(\d+)(?:\.(\d+))? (.*)", re.DOTALL)
"""Frames that are no HTML: more text, or other elements, at the end of the open block."""


class Malformed(AssertionError):
    """HTML that a browser would read otherwise than it was meant."""


class Element:
    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []
        self.parent: Element | None = None

    @property
    def id(self) -> str:
        return self.attributes.get("id", "")

    @property
    def elements(self) -> "list[Element]":
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def walk(self) -> "Iterator[Element]":
        """Every element below this one, in order. Not by recursion, which passes each up a level
        at a time: pages are walked for every frame."""
        todo = self.elements[::-1]
        while todo:
            one = todo.pop()
            yield one
            if one.children:
                todo += one.elements[::-1]

    def get(self, name: str) -> "Element | None":
        return next((e for e in self.walk() if e.attributes.get("id", "") == name), None)

    def add(self, child: "Element | str") -> None:
        if isinstance(child, Element):
            child.remove()
            child.parent = self
        self.children.append(child)

    def insert_before(self, child: "Element | str", before: "Element") -> None:
        if isinstance(child, Element):
            child.remove()
            child.parent = self
        self.children.insert(self._place(before), child)

    def replace_with(self, other: "Element") -> None:
        if self.parent is not None:
            self.parent.insert_before(other, self)
            self.remove()

    def remove(self) -> None:
        if self.parent is not None:
            del self.parent.children[self.parent._place(self)]
            self.parent = None

    def _place(self, child: "Element") -> int:
        return next(number for number, one in enumerate(self.children) if one is child)

    @property
    def plain(self) -> Any:
        """As values that can be compared: tag, attributes, children; texts that touch are one."""
        children: list[Any] = []
        for child in self.children:
            if isinstance(child, str) and self.tag in HOLDS_BLOCKS and not child.strip():
                continue
            made = child if isinstance(child, str) else child.plain
            if isinstance(made, str) and children and isinstance(children[-1], str):
                children[-1] += made
            elif made != "":
                children.append(made)
        return (self.tag, self.attributes, children)

    def __repr__(self) -> str:
        """As HTML. Not by recursion: emphasis may be nested deeper than Python calls may."""
        out: list[str] = []
        todo: list[Element | str] = [self]
        while todo:
            one = todo.pop()
            if isinstance(one, str):
                out.append(one)
                continue
            said = "".join(f' {name}="{escape(value)}"' for name, value in one.attributes.items())
            out.append(f"<{one.tag}{said}>")
            if one.tag not in VOID:
                todo.append(f"</{one.tag}>")
                todo += [escape(c) if isinstance(c, str) else c for c in reversed(one.children)]
        return "".join(out)


class _Reader(HTMLParser):
    def __init__(self, root: Element) -> None:
        super().__init__()
        self.open = [root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if len({name for name, _ in attrs}) != len(attrs):
            raise Malformed(f"<{tag}> has an attribute twice: {attrs}")
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].add(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise Malformed(f"<{tag}/> does not close itself in HTML")

    def handle_endtag(self, tag: str) -> None:
        if len(self.open) == 1 or self.open[-1].tag != tag:
            raise Malformed(f"</{tag}> closes <{self.open[-1].tag}>")
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].add(data)

    def handle_comment(self, data: str) -> None:
        raise Malformed(f"a comment: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise Malformed(f"a declaration: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise Malformed(f"an instruction: {data!r}")


def read(html: str) -> Element:
    """An element without a name, around what the HTML holds."""
    root = Element("", {})
    reader = _Reader(root)
    reader.feed(html)
    reader.close()
    if len(reader.open) > 1:
        raise Malformed(f"<{reader.open[-1].tag}> is not closed")
    return root


class Dom:
    """What is on a page, and what frames make of it."""

    def __init__(self, html: str) -> None:
        self.root = read(html)
        self.missed: list[str] = []
        """Targets that were not there; htmx says nothing of them but in its log."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dom) and self.root.plain == other.root.plain

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return "".join(escape(c) if isinstance(c, str) else str(c) for c in self.root.children)

    def get(self, name: str) -> Element:
        found = self.root.get(name)
        assert found is not None, f"nothing on the page has the id {name!r}: {self}"
        return found

    def has(self, name: str) -> bool:
        return self.root.get(name) is not None

    @property
    def text(self) -> str:
        return " ".join(self.root.text.split())

    @property
    def repeated_ids(self) -> list[str]:
        counted = Counter(e.attributes["id"] for e in self.root.walk() if "id" in e.attributes)
        return [name for name, times in counted.items() if times > 1]

    def apply(self, frame: str) -> None:
        """Swap each element at the top of a frame, out of band; or let an open block grow."""
        if grown := GROWN.match(frame):
            self._grow(*grown.groups())
            return
        top = read(frame)
        assert _list_problems(top) == []
        for element in top.elements:
            self._swap(element)
        assert self.repeated_ids == []

    def _grow(self, at: str, keep: str | None, more: str) -> None:
        """As frames.js does it, in the one block that is open."""
        (holder,) = (e for e in self.root.walk() if e.id.endswith("-tail"))
        if keep is None:
            _grow_text(holder, int(at), more)
            return
        for _ in range(int(at)):
            holder = holder.elements[-1]
        kept = int(keep)
        last = holder.children.index(holder.elements[kept - 1]) + 1 if kept else 0
        del holder.children[last:]
        for child in list(read(more).children):
            holder.add(child)

    def _swap(self, element: Element) -> None:
        how = element.attributes.pop(SWAP, "true")
        style, colon, selector = how.partition(":")
        style = "outerHTML" if how == "true" else style
        wanted = selector.removeprefix("#") if colon else element.id
        target = self.root.get(wanted)
        if target is None:
            self.missed.append(wanted)
            return
        inner = [element] if style == "outerHTML" else element.children
        fresh = [child for child in list(inner) if not self._is_known(child, target)]
        match style:
            case "outerHTML":
                target.replace_with(element)
            case "innerHTML":
                target.children = []
                for child in fresh:
                    target.add(child)
            case "beforeend":
                for child in fresh:
                    target.add(child)
            case "beforebegin":
                assert target.parent is not None
                for child in fresh:
                    target.parent.insert_before(child, target)
            case "delete":
                target.remove()
            case _:
                raise Malformed(f"a frame that swaps by {style!r}")

    def _is_known(self, child: Element | str, target: Element) -> bool:
        """The hook of frames.js: what is on the page already is replaced, not added."""
        if isinstance(child, str) or not child.id or child.id == target.id:
            return False
        known = self.root.get(child.id)
        if known is not None:
            known.replace_with(child)
        return known is not None


def _grow_text(holder: Element, length: int, text: str) -> None:
    """After the last text of the last element, if it is that long."""
    while True:
        last = [c for c in holder.children if not isinstance(c, str) or c.strip()][-1]
        if isinstance(last, str):
            break
        holder = last
    place = len(holder.children) - 1 - len(_blank_end(holder))
    known = holder.children[place]
    assert isinstance(known, str)
    if len(known.encode("utf-16-le")) // 2 == length:
        holder.children[place] = known + text


def difference(one: Element, other: Element) -> str:
    """Where two elements differ first; empty if they are the same."""
    return _difference(one.plain, other.plain, "")


def _difference(one: Any, other: Any, where: str) -> str:
    if one == other:
        return ""
    if isinstance(one, str) or isinstance(other, str) or one[:2] != other[:2]:
        return f"in {where}: {one!r:.400} and {other!r:.400}"
    here = f"{where} {one[0]}#{one[1].get('id', '')}"
    for first, second in zip(one[2], other[2], strict=False):
        if found := _difference(first, second, here):
            return found
    return f"in {here}: {_short(one[2])} and {_short(other[2])}"


def _short(children: list[Any]) -> list[str]:
    return [c if isinstance(c, str) else f"{c[0]}#{c[1].get('id', '')}" for c in children]


def frame_problems(frame: str) -> list[str]:
    """What htmx would not do as meant: it swaps elements only, each by its id or as it says."""
    return _list_problems(read(frame))


def _list_problems(top: Element) -> list[str]:
    texts = [f"text at the top: {child!r}" for child in top.children if isinstance(child, str)]
    lost = [f"{e} has no target" for e in top.elements if not (e.id or SWAP in e.attributes)]
    inner = [
        f"{SWAP} inside of {e}" for e in top.elements for d in e.walk() if SWAP in d.attributes
    ]
    return texts + lost + inner


def _blank_end(holder: Element) -> list[str]:
    """White space after the last thing in an element."""
    found: list[str] = []
    for child in reversed(holder.children):
        if not isinstance(child, str) or child.strip():
            break
        found.append(child)
    return found
