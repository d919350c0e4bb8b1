"""Where links lead: by name as in Obsidian, by path as in Markdown, by alias when no name fits.

A link finds what has its name, in whatever case and folder. Of several, one in the same folder
comes first, then the one with the shortest path. What cannot be found is unresolved, until there
is a note of that name.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.db.models import Q, QuerySet

from agents.models import Attachment, Note, NoteAlias, NoteLink
from agents.vault.notes import notes_for
from agents.vault.paths import get_folder, make_key, make_link_key, make_name_key

BATCH_SIZE = 500
RELATIVE_KINDS = (NoteLink.Kind.MARKDOWN, NoteLink.Kind.IMAGE)


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Something that a link can lead to."""

    kind: Literal["note", "attachment"]
    pk: int
    path: str

    @property
    def link_key(self) -> str:
        return make_link_key(self.path)


@dataclass(frozen=True, slots=True)
class Backlink:
    """A link to a note, and where it stands."""

    path: str
    title: str
    line: int
    kind: str
    label: str
    fragment: str


@dataclass(frozen=True, slots=True)
class OutgoingLink:
    """A link of a note; `resolved` is None if it leads nowhere yet."""

    line: int
    kind: str
    target: str
    fragment: str
    label: str
    resolved: LinkTarget | None


@dataclass(frozen=True, slots=True)
class UnresolvedLink:
    """What links call for and nothing has as its name, with the paths that do."""

    target: str
    sources: tuple[str, ...]


class LinkResolver:
    """Resolves links among the targets that it is given. No I/O."""

    def __init__(
        self, targets: Iterable[LinkTarget], aliases: Iterable[tuple[str, LinkTarget]] = ()
    ) -> None:
        self._by_name: dict[str, list[LinkTarget]] = defaultdict(list)
        self._by_alias: dict[str, list[LinkTarget]] = defaultdict(list)
        self._paths: dict[tuple[str, int], str] = {}
        for target in targets:
            self._by_name[make_name_key(target.path)].append(target)
            self._paths[target.kind, target.pk] = target.path
        for key, target in aliases:
            self._by_alias[key].append(target)

    def resolve(self, source: str, kind: str, target: str, fragment: str = "") -> LinkTarget | None:
        """Return where a link in the note at the path `source` leads."""
        if not target:
            return self._find_exact(make_link_key(source))
        if fragment and (named := self.find_with_hash(source, target, fragment)):
            return named
        if kind in RELATIVE_KINDS or target.startswith(("./", "../")):
            relative = join_path(get_folder(source), target)
            if relative is not None and (exact := self._find_exact(make_link_key(relative))):
                return exact
        return self._find_by_name(source, target) or self._find_by_alias(source, target)

    def get_path(self, target: LinkTarget) -> str:
        """Return the path of a target by its id, whatever its path was elsewhere."""
        return self._paths[target.kind, target.pk]

    def find_with_hash(self, source: str, target: str, fragment: str) -> LinkTarget | None:
        """Return the note whose name has the # in it that stands before a heading elsewhere."""
        return self._find_by_name(source, f"{target}#{fragment}")

    def _find_exact(self, link_key: str) -> LinkTarget | None:
        named = self._by_name.get(link_key.rpartition("/")[2], ())
        return next((target for target in named if target.link_key == link_key), None)

    def _find_by_name(self, source: str, written: str) -> LinkTarget | None:
        key = make_link_key(written)
        if key.startswith("/"):
            return self._find_exact(key.lstrip("/"))
        found = [
            target
            for target in self._by_name.get(key.rpartition("/")[2], ())
            if f"/{target.link_key}".endswith(f"/{key}")
        ]
        return _choose(found, source, key)

    def _find_by_alias(self, source: str, written: str) -> LinkTarget | None:
        return _choose(self._by_alias.get(make_key(written), []), source, "")


def _choose(found: list[LinkTarget], source: str, key: str) -> LinkTarget | None:
    """Return the target that is meant when several have the name."""
    if len(found) < 2:
        return found[0] if found else None
    folder = make_key(get_folder(source))

    def distance(target: LinkTarget) -> tuple[bool, bool, int, int, str]:
        own = target.link_key
        is_whole_path = "/" in key and own == key
        in_folder = get_folder(own) == folder
        return (not is_whole_path, not in_folder, own.count("/"), len(own), own)

    return min(found, key=distance)


def join_path(folder: str, written: str) -> str | None:
    """Return the path that is written relative to a folder; None if it leads out of the project."""
    parts = [] if written.startswith("/") or not folder else folder.split("/")
    for part in written.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def load_resolver(project_id: UUID, written: Iterable[str] | None = None) -> LinkResolver:
    """Return a resolver for links that are written so; without them, for all of a project."""
    if written is None:
        return build_resolver(load_targets(project_id), load_aliases(project_id))
    names, keys = set[str](), set[str]()
    for target in written:
        names |= {make_name_key(target), make_name_key(target.partition("#")[0])}
        keys.add(make_key(target))
    if len(names) > BATCH_SIZE:  # more than a query should be asked for by name
        return load_resolver(project_id)
    aliases = load_aliases(project_id).filter(key__in=keys)
    named = aliases.values_list("key", "note_id", "note__path")
    return LinkResolver(
        load_targets(project_id, names),
        [(key, LinkTarget("note", pk, path)) for key, pk, path in named],
    )


def build_resolver(targets: list[LinkTarget], aliases: QuerySet[NoteAlias]) -> LinkResolver:
    """Return a resolver among all targets of a project."""
    notes = {target.pk: target for target in targets if target.kind == "note"}
    rows = aliases.values_list("key", "note_id")
    return LinkResolver(targets, [(key, notes[pk]) for key, pk in rows if pk in notes])


def load_targets(project_id: UUID, names: Collection[str] | None = None) -> list[LinkTarget]:
    """Return what links can lead to, all of it or what has one of these names."""
    notes = notes_for(project_id)
    files = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    if names is not None:
        notes, files = notes.filter(name_key__in=names), files.filter(name_key__in=names)
    targets = [LinkTarget("note", pk, path) for pk, path in notes.values_list("pk", "path")]
    return targets + [
        LinkTarget("attachment", pk, path) for pk, path in files.values_list("pk", "path")
    ]


def load_aliases(project_id: UUID) -> QuerySet[NoteAlias]:
    return NoteAlias.objects.filter(project=project_id)


def resolve_link(
    project_id: UUID,
    source: str,
    target: str,
    fragment: str = "",
    kind: str = NoteLink.Kind.WIKILINK,
) -> LinkTarget | None:
    """Return where one link leads, None if nowhere."""
    written = [target or source, f"{target}#{fragment}"]
    return load_resolver(project_id, written).resolve(source, kind, target, fragment)


def links_naming(project_id: UUID, names: Iterable[str]) -> list[NoteLink]:
    """Return the links that may lead to something of one of these names, with their sources."""
    keys = {key for name in names for key in (name, name.partition("#")[0])}
    rows = NoteLink.objects.filter(project=project_id, name_key__in=keys).exclude(target="")
    # Texts of whole notes are not needed to see where they link to.
    return list(
        rows.select_related("source").defer("source__text").order_by("source__key", "line", "pk")
    )


def backlinks_for(note: Note) -> list[Backlink]:
    """Return the links of other notes to this one, by path and line."""
    names = {note.name_key, *(key.rpartition("/")[2] for key in _get_alias_keys(note))}
    links = links_naming(note.project_id, names)
    written = {link.target for link in links}
    written |= {f"{link.target}#{link.fragment}" for link in links if link.fragment}
    resolver = load_resolver(note.project_id, written)
    found = []
    for link in links:
        target = resolver.resolve(link.source.path, link.kind, link.target, link.fragment)
        if target == LinkTarget("note", note.pk, note.path) and link.source_id != note.pk:
            source = link.source
            place = (source.path, source.title, link.line, link.kind, link.label, link.fragment)
            found.append(Backlink(*place))
    return found


def _get_alias_keys(note: Note) -> list[str]:
    return list(NoteAlias.objects.filter(note=note).values_list("key", flat=True))


def outgoing_links(note: Note) -> list[OutgoingLink]:
    """Return the links of a note in their order, each with where it leads."""
    links = list(NoteLink.objects.filter(source=note).order_by("line", "pk"))
    written = {link.target or note.path for link in links}
    written |= {f"{link.target}#{link.fragment}" for link in links if link.fragment}
    resolver = load_resolver(note.project_id, written)
    return [
        OutgoingLink(
            line=link.line,
            kind=link.kind,
            target=link.target,
            fragment=link.fragment,
            label=link.label,
            resolved=resolver.resolve(note.path, link.kind, link.target, link.fragment),
        )
        for link in links
    ]


def unresolved_links(project_id: UUID) -> list[UnresolvedLink]:
    """Return what links of a project call for and nothing has as its name, by name."""
    resolver = load_resolver(project_id)
    rows = NoteLink.objects.filter(~Q(target=""), project=project_id)
    written: dict[str, str] = {}
    sources: dict[str, dict[str, None]] = defaultdict(dict)
    columns = rows.values_list("source__path", "kind", "target", "fragment")
    for source, kind, target, fragment in columns.order_by("source__key", "line").iterator():
        if resolver.resolve(source, kind, target, fragment) is None:
            key = make_link_key(target)
            written.setdefault(key, target)
            sources[key][source] = None
    return [UnresolvedLink(written[key], tuple(sources[key])) for key in sorted(written)]
