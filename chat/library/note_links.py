"""Where the links of a note lead on the pages of the library, and the notes shown inside of it."""

import hashlib
from collections.abc import Iterable
from functools import partial
from urllib.parse import urlencode

from django.urls import reverse

from agents.core.frontmatter import BYTE_ORDER_MARK
from agents.models import Note, NoteLink, Project
from agents.search.sections import split_lines
from agents.vault.fragments import find_fragment
from agents.vault.links import LinkResolver, LinkTarget, load_resolver
from agents.vault.notes import notes_for
from agents.vault.parsing import ParsedNote, parse_note
from agents.vault.paths import NOTE_SUFFIX, get_folder
from chat.library.note_rendering import render_note
from chat.library.note_syntax import LinkPlace, make_anchor, make_fragment_anchor
from chat.markdown import RenderBudget

MAX_EMBEDS = 20
MAX_EMBED_CHARS = 20_000
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg")
NOTHING = LinkPlace("missing", "")


class ParsedText:
    """A text of a project, saved or not, with what was read in it."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = split_lines(text.removeprefix(BYTE_ORDER_MARK))
        self.parsed: ParsedNote = parse_note(path, text)

    @property
    def body(self) -> list[str]:
        return self.lines[self.parsed.frontmatter.end :]

    def get_written_targets(self) -> Iterable[str]:
        for link in self.parsed.links:
            yield link.target or self.path
            if link.fragment:
                yield f"{link.target}#{link.fragment}"

    def cut_out(self, fragment: str) -> list[str]:
        """Return the lines below a heading, or of a block; all of them without a fragment."""
        if not fragment:
            return self.body
        found = find_fragment(self.lines, self.parsed, fragment)
        return self.lines[found.first - 1 : found.last] if found else []


class PageLinks:
    """Where links lead, with the addresses of the library's pages; see NoteLinks."""

    def __init__(
        self, project: Project, text: ParsedText, *, can_write: bool, embeds: "Embeds | None"
    ) -> None:
        self._text = text
        self._can_write = can_write
        self._embeds = embeds
        self._resolver: LinkResolver = embeds.resolver if embeds else LinkResolver([])
        self._address = partial(_build_address, project.slug)
        self._anchors: dict[str, int] = {}

    def resolve(self, kind: str, target: str, fragment: str) -> LinkTarget | None:
        return self._resolver.resolve(self._text.path, kind, target, fragment)

    def find(self, kind: str, target: str, fragment: str) -> LinkPlace:
        anchor = make_fragment_anchor(fragment)
        if not target:
            return LinkPlace("note", f"?{urlencode({'at': anchor})}#{anchor}")
        found = self.resolve(kind, target, fragment)
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
        found = self.resolve(NoteLink.Kind.EMBED, target, fragment)
        if self._embeds is None or found is None or found.kind != "note":
            return ""
        return self._embeds.render(found, fragment)

    def get_tag_address(self, tag: str) -> str:
        return f"{self._address('tags')}?{urlencode({'tag': tag})}"

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
    """The notes that a note shows, one level deep, so that a circle of them ends."""

    def __init__(
        self, project: Project, text: ParsedText, budget: RenderBudget, *, can_write: bool
    ) -> None:
        self._project = project
        self._budget = budget
        self._can_write = can_write
        own = load_resolver(project.pk, text.get_written_targets())
        self._texts = self._load_texts(text, own)
        written = {
            name for each in (text, *self._texts.values()) for name in each.get_written_targets()
        }
        self.resolver = load_resolver(project.pk, written) if self._texts else own
        self._left = MAX_EMBEDS

    def _load_texts(self, text: ParsedText, resolver: LinkResolver) -> dict[int, ParsedText]:
        embeds = (link for link in text.parsed.links if link.kind == NoteLink.Kind.EMBED)
        targets = (resolver.resolve(text.path, e.kind, e.target, e.fragment) for e in embeds)
        ids = list(dict.fromkeys(t.pk for t in targets if t and t.kind == "note"))[:MAX_EMBEDS]
        rows: list[Note] = list(notes_for(self._project.pk).filter(pk__in=ids))
        return {row.pk: ParsedText(row.path, row.text) for row in rows}

    def render(self, target: LinkTarget, fragment: str) -> str:
        """Return the HTML of a note or a part of it; empty if it is not to be shown."""
        text = self._texts.get(target.pk)
        if text is None or self._left <= 0:
            return ""
        self._left -= 1
        links = EmbeddedLinks(self._project, text, can_write=self._can_write, embeds=self)
        lines = split_lines("\n".join(text.cut_out(fragment))[:MAX_EMBED_CHARS])
        return "".join(render_note(lines, links, self._budget))

    def describe(self, text: ParsedText) -> str:
        """Return a digest of all that the HTML of a note depends on besides its own text."""
        digest = hashlib.sha256(f"{self._project.slug}\0{self._can_write}".encode())
        for each in (text, *self._texts.values()):
            digest.update("\0".join([each.path, *each.lines]).encode("utf-8", "surrogatepass"))
            for link in each.parsed.links:
                found = self.resolver.resolve(each.path, link.kind, link.target, link.fragment)
                digest.update(f"\0{found}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


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
