"""Resolve links: by name as in Obsidian, by path as in Markdown, by alias when no name fits.

A link finds what has its name, in whatever case and folder. Of several, one in the same folder
comes first, then the one with the shortest path. What cannot be found is unresolved, until there
is a note of that name.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import Length, RowNumber

from agents.models import Attachment, Note, NoteAlias, NoteLink
from agents.vault.notes import notes_for
from agents.vault.parsing import MAX_ALIASES
from agents.vault.paths import get_folder, make_key, make_link_key, make_name_key
from agents.vault.service import NoteEntry

BATCH_SIZE = 500
MAX_SPELLINGS = 20
"""Ways of writing a link to one note that are looked at in each note that has some."""
MAX_BACKLINK_ROWS = 2_000
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
class Backlinks:
    """The first notes that link to a note, by path, and how many there are.

    The number is exact unless `is_estimate`: then it counts all notes with a link of such a name,
    some of which may mean another note.
    """

    sources: tuple[NoteEntry, ...] = ()
    count: int = 0
    is_estimate: bool = False


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


class _Namesakes:
    """Targets that share a name or an alias, ranked once: a link does not look at all of them."""

    def __init__(self, targets: Iterable[LinkTarget]) -> None:
        keyed = ((f"/{target.link_key}", target) for target in targets)
        self._ranked = sorted(keyed, key=lambda pair: (pair[0].count("/"), len(pair[0]), pair[0]))
        self._by_folder: dict[str, LinkTarget] = {}
        self._by_key: dict[str, LinkTarget] = {}
        for key, target in self._ranked:
            self._by_folder.setdefault(get_folder(key), target)
            self._by_key.setdefault(key, target)

    def find(self, link_key: str) -> LinkTarget | None:
        """Return the target with a path."""
        return self._by_key.get(f"/{link_key}")

    def choose(self, folder: str, end: str = "") -> LinkTarget | None:
        """Return the target in a folder, else the nearest to the root, whose path ends so."""
        near = self._by_folder.get(f"/{folder}" if folder else "")
        if near and f"/{near.link_key}".endswith(end):
            return near
        return next((target for key, target in self._ranked if key.endswith(end)), None)


class LinkResolver:
    """Resolves links among the targets that it is given. No I/O."""

    def __init__(
        self, targets: Iterable[LinkTarget], aliases: Iterable[tuple[str, LinkTarget]] = ()
    ) -> None:
        self._by_name: dict[str, list[LinkTarget]] = defaultdict(list)
        self._by_alias: dict[str, list[LinkTarget]] = defaultdict(list)
        self._namesakes: dict[tuple[str, str], _Namesakes] = {}
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
        return self._get_named(link_key).find(link_key)

    def _find_by_name(self, source: str, written: str) -> LinkTarget | None:
        key = make_link_key(written)
        if key.startswith("/"):
            return self._find_exact(key.lstrip("/"))
        if "/" in key and (exact := self._find_exact(key)):
            return exact
        return self._get_named(key).choose(make_key(get_folder(source)), f"/{key}")

    def _find_by_alias(self, source: str, written: str) -> LinkTarget | None:
        key = make_key(written)
        namesakes = self._get_namesakes("alias", key, self._by_alias)
        return namesakes.choose(make_key(get_folder(source)))

    def _get_named(self, link_key: str) -> _Namesakes:
        return self._get_namesakes("name", link_key.rpartition("/")[2], self._by_name)

    def _get_namesakes(
        self, kind: str, name: str, targets: dict[str, list[LinkTarget]]
    ) -> _Namesakes:
        found = self._namesakes.get((kind, name))
        if found is None:
            found = self._namesakes[kind, name] = _Namesakes(targets.get(name, ()))
        return found


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
    names, keys = dict[str, None](), dict[str, None]()
    for target in written:
        names[make_name_key(target)] = names[make_name_key(target.partition("#")[0])] = None
        keys[make_key(target)] = None
    targets = [each for some in _cut(names) for each in load_targets(project_id, some)]
    aliases = [
        (key, LinkTarget("note", pk, path))
        for some in _cut(keys)
        for key, pk, path in load_aliases(project_id)
        .filter(key__in=some)
        .values_list("key", "note_id", "note__path")
    ]
    return LinkResolver(targets, aliases)


def _cut(names: Iterable[str]) -> Iterable[Sequence[str]]:
    """Cut what is more than a query should be asked for by name."""
    rest = list(names)
    return (rest[start : start + BATCH_SIZE] for start in range(0, len(rest), BATCH_SIZE))


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


def find_backlinks(note: Note, limit: int) -> Backlinks:
    """Return the other notes that link to this one.

    The database counts links that are written alike once for each note: a note may have thousands.
    """
    named = _select_naming(note)
    rows = list(_select_spellings(named)[: MAX_BACKLINK_ROWS + 1])
    written = {target for _, _, _, target, _ in rows}
    written |= {f"{target}#{fragment}" for _, _, _, target, fragment in rows if fragment}
    resolver = load_resolver(note.project_id, written)
    own = LinkTarget("note", note.pk, note.path)
    sources = {
        path: NoteEntry(path, title)
        for path, title, kind, target, fragment in rows
        if resolver.resolve(path, kind, target, fragment) == own
    }
    shown = tuple(sources.values())[:limit]
    if len(rows) <= MAX_BACKLINK_ROWS:
        return Backlinks(shown, len(sources))
    return Backlinks(shown, named.aggregate(n=Count("source", distinct=True))["n"], True)


def _select_spellings(links: QuerySet[NoteLink]) -> QuerySet[NoteLink, tuple[str, ...]]:
    """Return how links are written in each note, the plainest ways of each, by path."""
    columns = ("source__path", "source__title", "kind", "target", "fragment")
    written = links.values("source__key", *columns).annotate(times=Count("pk"))
    number = Window(
        RowNumber(),
        partition_by=F("source__key"),
        order_by=[Length("fragment"), Length("target"), "target", "fragment", "kind"],
    )
    plainest = written.annotate(number=number).filter(number__lte=MAX_SPELLINGS)
    rows = plainest.order_by("source__key", "number").values_list(*columns)
    return cast("QuerySet[NoteLink, tuple[str, ...]]", rows)


def _select_naming(note: Note) -> QuerySet[NoteLink]:
    """Return the links of other notes that may lead to this one, by its name or an alias."""
    aliases = NoteAlias.objects.filter(note=note).values_list("key", flat=True)[:MAX_ALIASES]
    names = {note.name_key, *(key.rpartition("/")[2] for key in aliases)}
    keys = {key for name in names for key in (name, name.partition("#")[0])}
    links = NoteLink.objects.filter(project=note.project_id, name_key__in=keys)
    return links.exclude(target="").exclude(source=note).order_by()


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
