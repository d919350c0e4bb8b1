"""Targets of a note's links on the pages of the library, and the notes shown inside of it."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache, partial
from itertools import accumulate, islice
from threading import RLock
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.text import get_text_list

from agents.core.frontmatter import BYTE_ORDER_MARK
from agents.models import Note, NoteLink, Project
from agents.search.sections import split_lines
from agents.vault.fragments import find_fragment, fold_headings
from agents.vault.links import LinkResolver, LinkTarget, load_resolver
from agents.vault.notes import notes_for
from agents.vault.parsing import ParsedNote, parse_note
from agents.vault.paths import NOTE_SUFFIX, get_folder
from chat.library.note_rendering import render_note
from chat.library.note_syntax import LinkPlace, make_anchor, make_fragment_anchor
from chat.markdown import RenderBudget

MAX_EMBEDS = 200
MAX_TAGS = MAX_PROPERTIES = 1_000
"""Resolved on one page, repetitions included; further ones are plain text."""
MAX_LINKS = 2_000
"""Different links that one page resolves, its embedded notes included."""
MAX_SHOWN = 20
MAX_SHOWN_BYTES = 2 * 1024 * 1024
"""Of the notes shown inside another: each of them is read as a whole."""
MAX_EMBED_CHARS = 20_000
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg")
NOTHING = LinkPlace("missing", "")
PLAIN = LinkPlace("text", "")
WrittenLink = tuple[str, str, str]
"""Kind, target and fragment of a link."""


class PageLimits:
    """How much one page resolves of a kind, and of which kinds there was more."""

    def __init__(self) -> None:
        self._left = {"embeds": MAX_EMBEDS, "tags": MAX_TAGS, "properties": MAX_PROPERTIES}
        self.exceeded: set[str] = set()

    def take(self, kind: str) -> bool:
        """Return whether one more is resolved."""
        self._left[kind] -= 1
        if self._left[kind] < 0:
            self.exceeded.add(kind)
        return self._left[kind] >= 0

    def describe(self) -> list[str]:
        """Say what the page does not have."""
        most = {"embeds": MAX_EMBEDS, "tags": MAX_TAGS, "links": MAX_LINKS}
        plain = [f"{count:,} {kind}" for kind, count in most.items() if kind in self.exceeded]
        sentences = []
        if plain:
            sentences.append(
                f"There are more than {get_text_list(plain, 'and')}: the rest are text."
            )
        if "shown" in self.exceeded:
            sentences.append(
                f"Not all notes are shown inside this one (at most {MAX_SHOWN}, together "
                f"{MAX_SHOWN_BYTES // 1024**2} MB): the rest are links."
            )
        if "properties" in self.exceeded:
            sentences.append(
                f"Only the first {MAX_PROPERTIES:,} properties are listed. "
                "All of them are under Lines."
            )
        return sentences


LONG_TEXT = 100_000
"""Characters from which threads take turns, and a parsed text is kept."""
_long_texts = RLock()


def take_turns(chars: int) -> AbstractContextManager[object]:
    """Return a lock for work on so many characters; it locks nothing if they are few.

    Several threads that work on long texts at once would slow down everybody's pages.
    """
    return _long_texts if chars >= LONG_TEXT else nullcontext()


def _parse(path: str, text: str) -> ParsedNote:
    with take_turns(len(text)):
        return _parse_long(path, text) if len(text) >= LONG_TEXT else parse_note(path, text)


@lru_cache(maxsize=4)
def _parse_long(path: str, text: str) -> ParsedNote:
    return parse_note(path, text)


class ParsedText:
    """A text of a project, saved or not, with what was read in it."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = split_lines(text.removeprefix(BYTE_ORDER_MARK))
        self.parsed = _parse(path, text)
        links = self.parsed.links
        self.links = list(dict.fromkeys((each.kind, each.target, each.fragment) for each in links))

    @property
    def body(self) -> list[str]:
        return self.lines[self.parsed.frontmatter.end :]

    @cached_property
    def _folded_headings(self) -> list[str]:
        return fold_headings(self.parsed)

    def cut_out(self, fragment: str) -> list[str]:
        """Return the lines below a heading, or of a block; all of them without a fragment."""
        if not fragment:
            return self.body
        found = find_fragment(self.lines, self.parsed, fragment, self._folded_headings)
        return self.lines[found.first - 1 : found.last] if found else []


class PageLinks:
    """Where links lead, with the addresses of the library's pages; see NoteLinks."""

    def __init__(
        self, project: Project, text: ParsedText, *, can_write: bool, embeds: "Embeds"
    ) -> None:
        self._text = text
        self._can_write = can_write
        self._embeds = embeds
        self._address = partial(_build_address, project.slug)
        self._tags_address = self._address("tags")
        self._anchors: dict[str, int] = {}

    def find(self, kind: str, target: str, fragment: str) -> LinkPlace:
        if kind == NoteLink.Kind.EMBED and not self._embeds.limits.take("embeds"):
            return PLAIN
        anchor = make_fragment_anchor(fragment)
        if not target:
            return LinkPlace("note", f"?{urlencode({'at': anchor})}#{anchor}")
        if self._embeds.is_left_out(self._text, (kind, target, fragment)):
            return PLAIN
        found = self._embeds.resolve(self._text, (kind, target, fragment))
        if found is None:
            return self._offer(target)
        if found.kind == "attachment":
            is_picture = found.path.lower().endswith(PICTURE_SUFFIXES)
            return LinkPlace("picture" if is_picture else "file", self._address("file", found.path))
        address = self._address("note", found.path)
        return LinkPlace("note", f"{address}?at={anchor}#{anchor}" if anchor else address)

    def _offer(self, target: str) -> LinkPlace:
        """Offer to make what is not there, if it can be a note."""
        path = suggest_path(self._text.path, target)
        if not self._can_write or not path:
            return NOTHING
        return LinkPlace("missing", f"{self._address('new')}?{urlencode({'path': path})}")

    def render_embed(self, target: str, fragment: str) -> str:
        found = self._embeds.resolve(self._text, (NoteLink.Kind.EMBED, target, fragment))
        return self._embeds.render(found, fragment) if found and found.kind == "note" else ""

    def get_tag_address(self, tag: str) -> str:
        if not self._embeds.limits.take("tags"):
            return ""
        return f"{self._tags_address}?{urlencode({'tag': tag})}"

    def add_anchor(self, heading: str) -> str:
        anchor = make_anchor(heading)
        count = self._anchors[anchor] = self._anchors.get(anchor, 0) + 1
        return anchor if count == 1 else f"{anchor}-{count}"


class EmbeddedLinks(PageLinks):
    """The links of a note that is shown inside of another: it shows no further ones."""

    def render_embed(self, target: str, fragment: str) -> str:
        return ""

    def add_anchor(self, heading: str) -> str:
        return ""


class Embeds:
    """Where the links of a note lead, and the notes that it shows inside.

    Those are shown one level deep, so that a circle of them ends.
    """

    def __init__(
        self, project: Project, text: ParsedText, budget: RenderBudget, *, can_write: bool
    ) -> None:
        self.limits = PageLimits()
        self._project = project
        self._text = text
        self._budget = budget
        if sum(link.kind == NoteLink.Kind.EMBED for link in text.parsed.links) > MAX_EMBEDS:
            self.limits.exceeded.add("embeds")
        self._can_write = can_write
        self._found: dict[tuple[str, WrittenLink], LinkTarget | None] = {}
        self._resolver = self._resolve_all([text])
        self._texts = self._load_texts()
        if self._texts:
            self._resolver = self._resolve_all([text, *self._texts.values()])
        self._left = MAX_SHOWN

    def _resolve_all(self, texts: Sequence[ParsedText]) -> LinkResolver:
        """Resolve each different link of these texts once, as many as a page may have."""
        different: dict[tuple[str, WrittenLink], None] = {}
        for place in ((text.path, link) for text in texts for link in text.links):
            if len(different) > MAX_LINKS:
                break
            different[place] = None  # a note that shows itself is one of the texts twice
        self._has_more_links = len(different) > MAX_LINKS
        links = list(islice(different, MAX_LINKS))
        resolver = load_resolver(self._project.pk, _iterate_targets(links))
        self._found = {(path, link): resolver.resolve(path, *link) for path, link in links}
        return resolver

    def _load_texts(self) -> dict[int, ParsedText]:
        embeds = islice((e for e in self._text.links if e[0] == NoteLink.Kind.EMBED), MAX_EMBEDS)
        targets = (self._found.get((self._text.path, link)) for link in embeds)
        ids = list(dict.fromkeys(t.pk for t in targets if t and t.kind == "note"))
        notes = notes_for(self._project.pk)
        sizes = dict(notes.filter(pk__in=ids).values_list("pk", "size"))
        read = accumulate(sizes.get(pk, 0) for pk in ids)
        few = [
            pk for pk, total in zip(ids[:MAX_SHOWN], read, strict=False) if total <= MAX_SHOWN_BYTES
        ]
        rows: list[Note] = list(notes.filter(pk__in=few))
        return {row.pk: self._parse(row) for row in rows}

    def _parse(self, note: Note) -> ParsedText:
        """Parse a note shown inside, unless it is the page's own, which is parsed already."""
        if (note.path, note.text) == (self._text.path, self._text.text):
            return self._text
        return ParsedText(note.path, note.text)

    def is_left_out(self, text: ParsedText, link: WrittenLink) -> bool:
        """Return whether a link is one of those that are too many for a page."""
        if not self._has_more_links or (text.path, link) in self._found:
            return False
        self.limits.exceeded.add("links")
        return True

    def resolve(self, text: ParsedText, link: WrittenLink) -> LinkTarget | None:
        """Return where a link of a text leads."""
        if (text.path, link) in self._found:
            return self._found[text.path, link]
        return self._resolver.resolve(text.path, *link)

    def iterate_resolved(self, text: ParsedText) -> Iterator[tuple[WrittenLink, LinkTarget | None]]:
        """Yield the links of a text with where they lead, without those that are too many."""
        return ((link, found) for (path, link), found in self._found.items() if path == text.path)

    def render(self, target: LinkTarget, fragment: str) -> str:
        """Return the HTML of a note or a part of it; empty if it is not to be shown."""
        text = self._texts.get(target.pk)
        if text is None or self._left <= 0:
            self.limits.exceeded.add("shown")
            return ""
        self._left -= 1
        links = EmbeddedLinks(self._project, text, can_write=self._can_write, embeds=self)
        lines = split_lines("\n".join(text.cut_out(fragment))[:MAX_EMBED_CHARS])
        return "".join(render_note(lines, links, self._budget))

    def count_chars(self) -> int:
        """Return how long the texts are that were read for the page."""
        return sum(len(line) for each in (self._text, *self._texts.values()) for line in each.lines)

    def digest(self) -> str:
        """Return a digest of the texts on the page and of all that their HTML depends on."""
        digest = hashlib.sha256(f"{self._project.slug}\0{self._can_write}".encode())
        for each in (self._text, *self._texts.values()):
            digest.update("\0".join([each.path, *each.lines]).encode("utf-8", "surrogatepass"))
        for found in self._found.values():
            digest.update(f"\0{found}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _iterate_targets(links: Iterable[tuple[str, WrittenLink]]) -> Iterator[str]:
    for path, (_, target, fragment) in links:
        yield target or path
        if fragment:
            yield f"{target}#{fragment}"


def suggest_path(source: str, target: str) -> str:
    """Return where a note would be made that a link calls for; empty for other files."""
    name = target.strip().strip("/")
    if name.startswith("..") or "." in name.rpartition("/")[2].removesuffix(NOTE_SUFFIX)[-6:]:
        return ""
    folder = get_folder(source)
    path = name if "/" in name or not folder else f"{folder}/{name}"
    return path if path.endswith(NOTE_SUFFIX) else path + NOTE_SUFFIX


def _build_address(slug: str, page: str, *where: str) -> str:
    return reverse(f"library-{page}", args=[slug, *where])
