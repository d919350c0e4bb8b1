"""What rules and behaviours share: texts that people write, who may, what is refused, and that
nothing is lost when two change one at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from agents.audit.log import log_action
from agents.core.sanitize import replace_unstorable
from agents.models import AuditEntry, SettingChange, StoredBehaviour, StoredRule

MAX_STORED = 30
"""That one person, a project or the site can have of a kind: a run is held to 100 rules in all."""
Row = TypeVar("Row", StoredRule, StoredBehaviour)


class TextError(Exception):
    """The message is for the person who asked."""


class TextNotFound(TextError):
    """There is no such text for this person."""


class TextLocked(TextError):
    """It is there, and they may not do this."""


class TextRefused(TextError):
    """Not so, or not now: the message says what to do."""


class TextConflict(TextError):
    """It was changed since it was read; `row` is what it is now."""

    def __init__(self, row: StoredRule | StoredBehaviour) -> None:
        super().__init__(
            f"{row.name} was changed elsewhere: it is at version {row.version} now. "
            "Nothing was stored."
        )
        self.row = row


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedText:
    """A text as somebody sees it."""

    id: str
    """The number of its row; `shipped:NAME`, `file:NAME` and so on without one."""
    name: str
    level: str
    text: str
    row: StoredRule | StoredBehaviour | None = None
    file: str = ""
    lock: str = ""
    """Why this person cannot change it; empty if they can."""

    @property
    def title(self) -> str:
        return self.name

    @property
    def can_edit(self) -> bool:
        return self.row is not None and not self.lock


Listed = TypeVar("Listed", bound=ListedText)


@dataclass(frozen=True, slots=True)
class TextKind(Generic[Row]):
    """How one kind of text is called, and where its rows are."""

    noun: str
    name_word: str
    """What its text calls its name."""
    rows: "QuerySet[Row]"

    def may_write_site(self, user: User) -> bool:
        return user.is_staff and user.has_perm(f"agents.change_stored{self.noun}")

    def pick(self, listed: Iterable[Listed], text_id: str) -> Listed:
        for each in listed:
            if each.id == text_id:
                return each
        raise TextNotFound(f"There is no such {self.noun}, or it is not yours to see.")

    def get_owner(self, user: User, level: str) -> dict[str, Any] | None:
        """Return the columns that say whose a text is; None for a level of another sort."""
        if level == "own":
            return {"level": level, "user": user}
        if level != "site":
            return None
        if not self.may_write_site(user):
            raise TextLocked(f"Only staff can write {self.noun}s for the whole site.")
        return {"level": level}

    def refuse_name(self, name: str) -> TextRefused:
        return TextRefused(
            f"There is already a {self.noun} {name} here. Give it another {self.name_word}."
        )

    # -- rows -------------------------------------------------------------------------------------

    def create(self, user: User, owner: dict[str, Any], said: str, **values: Any) -> Row:
        try:
            with transaction.atomic():
                others = self.rows.filter(**owner)
                list(others.select_for_update().values_list("pk"))  # whoever writes one too waits
                row = self.rows.create(**owner, **values, changed_by=user)
                if others.count() > MAX_STORED:
                    raise TextRefused(
                        f"There are {MAX_STORED} {self.noun}s here already. Delete one first."
                    )
                self._record(user, row, "", said)
        except IntegrityError:
            raise self.refuse_name(values["name"]) from None
        return row

    def update(
        self, user: User, row: Row, version: int | None, said: tuple[str, str], **values: Any
    ) -> Row:
        """Change a row if it is still the version that was seen; None: whatever it is."""
        found = self.rows.filter(pk=row.pk)
        same = found if version is None else found.filter(version=version)
        try:
            with transaction.atomic():
                now = timezone.now()
                if not same.update(version=F("version") + 1, changed_at=now, **values):
                    present = found.first()
                    raise TextConflict(present) if present else TextNotFound("It has been deleted.")
                self._record(user, row, *said)
                return found.get()
        except IntegrityError:
            raise self.refuse_name(values["name"]) from None

    def delete(self, user: User, row: Row, said: str) -> None:
        with transaction.atomic():
            self._record(user, row, said, "")
            self.rows.filter(pk=row.pk).delete()

    def _record(self, user: User, row: Row, old: str, new: str) -> None:
        """Record who did what: one's own among one's settings, others' in the audit."""
        project_id = getattr(row, "project_id", None)  # a rule can be a project's
        if row.level == "own":
            SettingChange.objects.create(user=user, by=user, name=self.noun, old=old, new=new)
        elif project_id is None:
            log_action(AuditEntry.Verb.SITE, by=user, did=self.noun, old=old, new=new)
        else:
            verb, project = AuditEntry.Verb.PROJECT, str(project_id)
            log_action(verb, by=user, did=self.noun, project=project, old=old, new=new)


def clean_text(text: str) -> str:
    """Return a text as it is stored: browsers end lines with two characters."""
    return replace_unstorable(text.replace("\r\n", "\n"))
