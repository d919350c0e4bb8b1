"""Behaviours as people see and change them: who may, what is refused, and that nothing is lost when
two change one at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Q

from agents.core.behaviours import Behaviour, InvalidBehaviour
from agents.core.control.problems import PlacedProblem
from agents.models import StoredBehaviour
from agents.runtime import (
    BehaviourLevel,
    is_reserved,
    list_behaviours,
    list_common_behaviours,
    list_texts,
    parse_behaviour,
    read_typed_behaviour,
)
from agents.stored_texts import ListedText, TextKind, TextLocked, TextRefused, clean_text

MAX_TEXT_LENGTH = 20_000
MAX_COPIED_NAME = 56
"""A number has room behind it."""
BEHAVIOURS = TextKind("behaviour", "name", StoredBehaviour.objects.select_related("changed_by"))
Level = StoredBehaviour.Level
SITE_LOCK = "It is the site's: only staff can change it. Copy it to write one like it."
FILE_LOCK = "It is one of the operator's files: it can be copied here, not changed."
SHIPPED_LOCK = "It comes with Oracle: it can be copied, not changed."


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBehaviour(ListedText):
    """A behaviour as somebody sees it. One that cannot be read has problems, and no `behaviour`."""

    level: BehaviourLevel
    behaviour: Behaviour | None
    row: StoredBehaviour | None = None
    problems: tuple[PlacedProblem, ...] = ()

    @property
    def description(self) -> str:
        return self.behaviour.description if self.behaviour else ""


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
    texts, is_site_author = list_texts(list_behaviours(user)), BEHAVIOURS.may_write_site(user)
    for row in BEHAVIOURS.rows.filter(Q(level=Level.SITE) | Q(user=user)):
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
    return BEHAVIOURS.pick(list_behaviours_for(user), behaviour_id)


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
    owner = BEHAVIOURS.get_owner(user, level)
    if owner is None:
        raise TextRefused("Say whether the behaviour is for yourself or for the site.")
    text = clean_text(text)
    behaviour = check_behaviour(user, text, level)
    return BEHAVIOURS.create(user, owner, behaviour.name, name=behaviour.name, text=text)


def change_behaviour(
    user: User, listed: ListedBehaviour, text: str, version: int | None
) -> StoredBehaviour:
    """Store another text. `version` is the one that the person saw; None: whatever it is."""
    row = _require_row(listed)
    text = clean_text(text)
    behaviour = check_behaviour(user, text, row.level)
    values = {"name": behaviour.name, "text": text, "changed_by": user}
    said = row.name, f"{behaviour.name}: changed"
    return BEHAVIOURS.update(user, row, version, said, **values)


def delete_behaviour(user: User, listed: ListedBehaviour) -> None:
    """Delete it: it is no mode any more. Runs keep the text that they began with."""
    row = _require_row(listed)
    BEHAVIOURS.delete(user, row, row.name)


def _require_row(listed: ListedBehaviour) -> StoredBehaviour:
    if listed.row is None or listed.lock:
        raise TextLocked(listed.lock)
    return listed.row
