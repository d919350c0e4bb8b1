"""Behaviours as people see and change them: who may, what is refused, and that nothing is lost when
two change one at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from agents.audit.log import log_action
from agents.core.behaviours import Behaviour, InvalidBehaviour
from agents.core.control.problems import PlacedProblem
from agents.core.sanitize import replace_unstorable
from agents.models import AuditEntry, SettingChange, StoredBehaviour
from agents.runtime import (
    BehaviourLevel,
    is_reserved,
    list_behaviours,
    list_common_behaviours,
    list_texts,
    parse_behaviour,
    read_typed_behaviour,
)

MAX_STORED_BEHAVIOURS = 30
"""That one person, or the site, can have."""
MAX_TEXT_LENGTH = 20_000
MAX_COPIED_NAME = 56
"""A number has room behind it."""
BEHAVIOUR_CHANGE = "behaviour"
"""What the list of changed settings calls it."""
Level = StoredBehaviour.Level
SITE_LOCK = "It is the site's: only staff can change it. Copy it to write one like it."
FILE_LOCK = "It is a file of the operator's, which pages only show. Copy it to write one like it."
SHIPPED_LOCK = "It comes with Oracle: it can be copied, not changed."


class BehaviourError(Exception):
    """The message is for the person who asked."""


class BehaviourNotFound(BehaviourError):
    """There is no such behaviour for this person."""


class BehaviourLocked(BehaviourError):
    """It is there, and they may not do this."""


class BehaviourRefused(BehaviourError):
    """Not so, or not now: the message says what to do."""


class BehaviourConflict(BehaviourError):
    """It was changed since it was read; `row` is what it is now."""

    def __init__(self, row: StoredBehaviour) -> None:
        super().__init__(
            f"{row.name} was changed elsewhere: it is at version {row.version} now. "
            "Nothing was stored."
        )
        self.row = row


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBehaviour:
    """A behaviour as somebody sees it. One that cannot be read has problems, and no `behaviour`."""

    id: str
    """The number of its row; `shipped:NAME`, `package:NAME` or `file:NAME`."""
    name: str
    level: BehaviourLevel
    text: str
    behaviour: Behaviour | None
    problems: tuple[PlacedProblem, ...] = ()
    row: StoredBehaviour | None = None
    file: str = ""
    lock: str = ""
    """Why this person cannot change it; empty if they can."""

    @property
    def description(self) -> str:
        return self.behaviour.description if self.behaviour else ""

    @property
    def can_edit(self) -> bool:
        return not self.lock


# -- reading --------------------------------------------------------------------------------------


def list_behaviours_for(user: User) -> list[ListedBehaviour]:
    """Return all that a person can see; of two with one name, the nearer one is their mode."""
    common = [
        ListedBehaviour(
            id=f"{entry.level}:{entry.name}",
            name=entry.name,
            level=entry.level,
            text=entry.text,
            behaviour=entry.behaviour,
            file=entry.file,
            lock=FILE_LOCK if entry.file else SHIPPED_LOCK,
        )
        for entry in list_common_behaviours()
    ]
    return [*common, *_list_rows(user)]


def _list_rows(user: User) -> Iterator[ListedBehaviour]:
    texts, is_site_author = list_texts(list_behaviours(user)), can_write_site_behaviours(user)
    rows = StoredBehaviour.objects.filter(Q(level=Level.SITE) | Q(user=user))
    for row in rows.select_related("changed_by"):
        is_site = row.level == Level.SITE
        behaviour, problems = None, tuple[PlacedProblem, ...]()
        try:
            behaviour = parse_behaviour(row.text, texts)
        except InvalidBehaviour as error:
            problems = error.problems
        yield ListedBehaviour(
            id=str(row.pk),
            name=row.name,
            level="site" if is_site else "own",
            text=row.text,
            behaviour=behaviour,
            problems=problems,
            row=row,
            lock=SITE_LOCK if is_site and not is_site_author else "",
        )


def get_behaviour(user: User, behaviour_id: str) -> ListedBehaviour:
    for listed in list_behaviours_for(user):
        if listed.id == behaviour_id:
            return listed
    raise BehaviourNotFound("There is no such behaviour, or it is not yours to see.")


def check_behaviour(user: User, text: str, level: str = Level.OWN) -> Behaviour:
    """Read a text that somebody writes. Raises InvalidBehaviour with all problems."""
    if len(text) > MAX_TEXT_LENGTH:
        said = f"this is longer than {MAX_TEXT_LENGTH:,} characters"
        raise InvalidBehaviour([PlacedProblem(1, 1, said)])
    named = list_behaviours(None if level == Level.SITE else user)
    behaviour = read_typed_behaviour(text, list_texts(named))
    if is_reserved(behaviour.name):
        said = f"there is already a mode {behaviour.name!r}: give this one another name"
        raise InvalidBehaviour([PlacedProblem(1, 7, said)])
    return behaviour


def can_write_site_behaviours(user: User) -> bool:
    return user.is_staff and user.has_perm("agents.change_storedbehaviour")


def copy_text(listed: ListedBehaviour, taken: set[str]) -> str:
    """Return the text of a behaviour under a name that is not taken: something to start from."""
    number, name = 1, f"my-{listed.name}"[:MAX_COPIED_NAME]
    while name in taken:
        number += 1
        name = f"my-{listed.name}"[:MAX_COPIED_NAME] + f"-{number}"
    return listed.text.replace(f'"{listed.name}"', f'"{name}"', 1)


# -- changing -------------------------------------------------------------------------------------


def create_behaviour(user: User, text: str, *, level: str = Level.OWN) -> StoredBehaviour:
    """Store a new behaviour: a mode from the next question on. Raises InvalidBehaviour."""
    owner = _find_owner(user, level)
    text = _clean(text)
    behaviour = check_behaviour(user, text, level)
    if StoredBehaviour.objects.filter(**owner).count() >= MAX_STORED_BEHAVIOURS:
        raise BehaviourRefused(
            f"There are {MAX_STORED_BEHAVIOURS} behaviours here already. Delete one first."
        )
    try:
        with transaction.atomic():
            row = StoredBehaviour.objects.create(
                **owner, name=behaviour.name, text=text, changed_by=user
            )
            _record(user, row, "", row.name)
    except IntegrityError:
        raise _taken(behaviour.name) from None
    return row


def change_behaviour(
    user: User, listed: ListedBehaviour, text: str, version: int | None
) -> StoredBehaviour:
    """Store another text. `version` is the one that the person saw; None: whatever it is."""
    row = _require_row(listed)
    text = _clean(text)
    behaviour = check_behaviour(user, text, row.level)
    try:
        with transaction.atomic():
            found = StoredBehaviour.objects.filter(pk=row.pk)
            same = found if version is None else found.filter(version=version)
            values = {"name": behaviour.name, "text": text, "changed_by": user}
            if not same.update(version=F("version") + 1, changed_at=timezone.now(), **values):
                raise _explain_missing(found.first())
            _record(user, row, row.name, f"{behaviour.name}: changed")
            return found.select_related("changed_by").get()
    except IntegrityError:
        raise _taken(behaviour.name) from None


def delete_behaviour(user: User, listed: ListedBehaviour) -> None:
    """Delete it: it is no mode any more. Runs keep the text that they began with."""
    row = _require_row(listed)
    with transaction.atomic():
        _record(user, row, row.name, "")
        StoredBehaviour.objects.filter(pk=row.pk).delete()


def _find_owner(user: User, level: str) -> dict[str, object]:
    """Return the columns that say whose a behaviour is, or refuse it."""
    if level == Level.OWN:
        return {"level": level, "user": user}
    if level != Level.SITE:
        raise BehaviourRefused("Say whether the behaviour is for yourself or for the site.")
    if not can_write_site_behaviours(user):
        raise BehaviourLocked("Only staff can write behaviours for the whole site.")
    return {"level": level}


def _clean(text: str) -> str:
    return replace_unstorable(text.replace("\r\n", "\n"))


def _require_row(listed: ListedBehaviour) -> StoredBehaviour:
    if listed.row is None or listed.lock:
        raise BehaviourLocked(listed.lock)
    return listed.row


def _explain_missing(present: StoredBehaviour | None) -> BehaviourError:
    return BehaviourConflict(present) if present else BehaviourNotFound("It has been deleted.")


def _record(user: User, row: StoredBehaviour, old: str, new: str) -> None:
    """Record who did what: one's own among one's settings, the site's in the audit."""
    if row.level == Level.OWN:
        SettingChange.objects.create(user=user, by=user, name=BEHAVIOUR_CHANGE, old=old, new=new)
    else:
        log_action(AuditEntry.Verb.SITE, by=user, did="behaviour", old=old, new=new)


def _taken(name: str) -> BehaviourRefused:
    return BehaviourRefused(f"There is already a behaviour {name} here. Give it another name.")
