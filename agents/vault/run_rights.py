"""What a run may do in its project: what the person may who asked, at that moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction

from agents.projects.queries import can_read_by_id, hold_write_access
from agents.vault.author import Author
from agents.vault.errors import VaultRefused

MAX_CALL_ID = 200


@dataclass(frozen=True, slots=True)
class RunRights:
    """The rights of one run. Without an author it can only read."""

    project_id: UUID
    author: Author | None = None

    def check_can_read(self) -> None:
        """Refuse somebody who is no longer in the project."""
        user_id = self.author.user_id if self.author else None
        if user_id is not None and not can_read_by_id(user_id, self.project_id):
            raise VaultRefused("The person who asked is no longer in this project.")

    @contextmanager
    def hold_author(self, call_id: str) -> Iterator[Author]:
        """Yield who writes. Until it is written, nobody can take the right to do so from them."""
        author = self.author
        if author is None:
            raise VaultRefused("This project can only be read; put what you found in the answer.")
        with transaction.atomic():
            if author.user_id is not None and not hold_write_access(
                author.user_id, self.project_id
            ):
                raise VaultRefused("The person who asked may no longer change this project.")
            yield replace(author, call_id=call_id[:MAX_CALL_ID])
