"""Rewrites links whose targets move. Pure: texts and resolvers in, a text out."""

import json
import posixpath
import re
from collections.abc import Iterator

from agents.core.frontmatter import BYTE_ORDER_MARK
from agents.models.vault import NoteLink
from agents.vault.links import RELATIVE_KINDS, LinkResolver, LinkTarget, join_path
from agents.vault.parsing import Link, parse_note
from agents.vault.paths import NOTE_SUFFIX, get_folder, make_key, make_link_key

_LINE_END = re.compile(r"\r\n|\r|\n")
_CANVAS_FILE = re.compile(r'("file"\s*:\s*)("(?:[^"\\]|\\.)*")')
_UNFIT_FOR_WIKILINKS = re.compile(r"[#|^\[\]]")
_UNFIT_FOR_MARKDOWN = re.compile(r"[\s%()<>#?\"]")


class LinkRewriter:
    """Rewrites the links of one note, which may itself be moved.

    `old` and `new` resolve links before and after a move.
    """

    def __init__(self, old_path: str, new_path: str, old: LinkResolver, new: LinkResolver) -> None:
        self._old_path = old_path
        self._new_path = new_path
        self._old = old
        self._new = new

    def rewrite(self, text: str) -> tuple[str, int]:
        """Return the text with the links that would lead elsewhere, and how many there were."""
        if self._old_path.lower().endswith(".canvas"):
            return self._rewrite_canvas(text)
        mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        body = text.removeprefix(BYTE_ORDER_MARK)
        starts = [0, *(end.end() for end in _LINE_END.finditer(body))]
        links = parse_note(self._old_path, text).links
        pieces, place, count = [mark], 0, 0
        for link in sorted(links, key=lambda link: (link.line, link.end)):
            written = _get_rewritable(link)
            end = starts[link.line] + link.end
            start = end - len(written)
            if start >= place and (before := self._find_lost_target(link)):
                pieces += [body[place:start], self._write_link(link, before)]
                place, count = end, count + 1
        return "".join([*pieces, body[place:]]), count

    def _find_lost_target(self, link: Link) -> LinkTarget | None:
        """Return what a link leads to, if it would not after the move."""
        if not link.target:
            return None
        before = self._old.resolve(self._old_path, link.kind, link.target, link.fragment)
        if before is None or not self._is_lost(link, before):
            return None
        return before

    def _is_lost(self, link: Link, before: LinkTarget) -> bool:
        if self._is_relative(link, before):  # and must stay so: other programs know no names
            path = join_path(get_folder(self._new_path), link.target)
            return path is None or make_link_key(path) != make_link_key(self._new.get_path(before))
        return not self._leads_to(before, link.kind, link.target, link.fragment)

    def _is_relative(self, link: Link, before: LinkTarget) -> bool:
        if link.kind not in RELATIVE_KINDS or link.target.startswith("/"):
            return False
        path = join_path(get_folder(self._old_path), link.target)
        return path is not None and make_link_key(path) == before.link_key

    def _leads_to(self, goal: LinkTarget, kind: str, target: str, fragment: str = "") -> bool:
        found = self._new.resolve(self._new_path, kind, target, fragment)
        return found is not None and (found.kind, found.pk) == (goal.kind, goal.pk)

    def _write_link(self, link: Link, before: LinkTarget) -> str:
        path = self._new.get_path(before)
        if link.kind in RELATIVE_KINDS:
            destination = self._choose_destination(link, before, path)
            return _replace_destination(_get_rewritable(link), destination)
        named = self._old.find_with_hash(self._old_path, link.target, link.fragment)
        has_hash = bool(link.fragment) and named == before
        fragment = "" if has_hash else link.fragment
        name = path.removesuffix(NOTE_SUFFIX)
        if _UNFIT_FOR_WIKILINKS.search(name):
            return _turn_into_markdown(link, _get_relative(self._new_path, path), fragment)
        was_whole = "/" in link.target and make_link_key(link.target) == before.link_key
        suffix = NOTE_SUFFIX if make_key(link.target).endswith(NOTE_SUFFIX) else ""
        for form in _iterate_forms(name, shortest_first=not was_whole):
            if self._leads_to(before, link.kind, form + suffix, fragment):
                return _replace_target(link, form + suffix, has_hash=has_hash)
        return _replace_target(link, f"/{name}{suffix}", has_hash=has_hash)

    def _choose_destination(self, link: Link, before: LinkTarget, path: str) -> str:
        """Return a destination in the way it was written: from the note, the root, or by name."""
        if not make_key(link.target).endswith(NOTE_SUFFIX):
            path = path.removesuffix(NOTE_SUFFIX)
        if link.target.startswith("/"):
            return f"/{path}"
        relative = _get_relative(self._new_path, path)
        if self._is_relative(link, before):
            has_dot = link.target.startswith("./") and not relative.startswith("../")
            return f"./{relative}" if has_dot else relative
        for form in _iterate_forms(path, shortest_first="/" not in link.target):
            if self._leads_to(before, link.kind, form):
                return form
        return relative

    def _rewrite_canvas(self, text: str) -> tuple[str, int]:
        """Rewrite a canvas: cards name files by whole paths, in strings of JSON."""
        count = 0

        def replace(found: re.Match[str]) -> str:
            nonlocal count
            try:
                path = str(json.loads(found[2]))
            except ValueError:
                return found[0]
            before = self._old.resolve(self._old_path, NoteLink.Kind.WIKILINK, path)
            if before is None or before.path == self._new.get_path(before):
                return found[0]
            count += 1
            return found[1] + json.dumps(self._new.get_path(before), ensure_ascii=False)

        return _CANVAS_FILE.sub(replace, text), count


def _get_rewritable(link: Link) -> str:
    """Return the part of a link that says where it leads: labels may hold other links."""
    if link.kind in RELATIVE_KINDS:
        return link.written[_find_destination(link.written) - 2 :]
    return link.written


def _iterate_forms(path: str, *, shortest_first: bool) -> Iterator[str]:
    """Yield a path by its name alone, then with more and more of its folders."""
    parts = path.split("/")
    forms = ["/".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]
    yield from forms if shortest_first else [path, *forms]


def _replace_target(link: Link, target: str, *, has_hash: bool) -> str:
    opening = 3 if link.kind == NoteLink.Kind.EMBED else 2
    inner = link.written[opening:-2]
    head = inner.partition("|")[0].removesuffix("\\")
    if not has_hash:
        head = head.partition("#")[0]
    return f"{link.written[:opening]}{target}{inner[len(head) :]}]]"


def _turn_into_markdown(link: Link, path: str, fragment: str) -> str:
    mark = "!" if link.kind == NoteLink.Kind.EMBED else ""
    label = link.label or link.target
    return f"{mark}[{label}]({_encode(path)}{'#' + _encode(fragment) if fragment else ''})"


def _get_relative(source: str, target: str) -> str:
    return posixpath.relpath(target, get_folder(source) or ".")


def _replace_destination(written: str, destination: str) -> str:
    start = _find_destination(written)
    is_definition = written[start - 1] == ":"
    head, tail = written[:start], written[start:]
    spaces = tail[: len(tail) - len(tail.lstrip(" "))]
    tail = tail[len(spaces) :]
    if tail.startswith("<") and not set("<>\n") & set(destination):
        inner, _, rest = tail[1:].partition(">")
        fragment = inner[len(inner.partition("#")[0]) :]
        return f"{head}{spaces}<{destination}{fragment}>{rest}"
    end = tail.index(">") + 1 if tail.startswith("<") else _find_end(tail)
    end = len(tail) if is_definition else end
    inner = tail[:end].strip("<>")
    fragment = inner[len(inner.partition("#")[0]) :]
    return f"{head}{spaces}{_encode(destination)}{fragment}{tail[end:]}"


def _find_destination(written: str) -> int:
    """Return where `[label](path)` or `[label]: path` says where it leads."""
    place = written.rfind("](")
    return (place if place >= 0 else written.index("]:")) + 2


def _find_end(tail: str) -> int:
    """Return where a destination without angle brackets ends: at a blank or closing bracket."""
    depth = 0
    for place, character in enumerate(tail):
        if character.isspace() or (character == ")" and depth == 0):
            return place
        depth += {"(": 1, ")": -1}.get(character, 0)
    return len(tail)


def _encode(path: str) -> str:
    """Escape what would end a destination; letters of all scripts stay readable."""
    return _UNFIT_FOR_MARKDOWN.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), path
    )
