"""One row for a limit: the notice of a wrap-up stands in for its own, and gives way to it."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar


class NoticeLike(Protocol):
    """A system message, as a chunk or as a part of a page."""

    @property
    def system_type(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, Any]: ...


N = TypeVar("N", bound=NoticeLike)


def is_wrap_up_notice(notice: NoticeLike) -> bool:
    """Return whether it says that a limit is near and the last answer begins."""
    return notice.system_type == "limit_warning" and notice.metadata.get("phase") == "wrap_up"


def replaces(notice: NoticeLike, earlier: NoticeLike) -> bool:
    """Return whether it tells the end of the run whose last answer `earlier` announced: mostly the
    limit of which that one told, but another one if the answer failed."""
    return notice.system_type == "limit_reached" and is_wrap_up_notice(earlier)


def drop_replaced(notices: Iterable[N]) -> list[N]:
    """Return the notices in order, but for those that a later one stands in the place of."""
    shown: list[N] = []
    for notice in notices:
        shown = [earlier for earlier in shown if not replaces(notice, earlier)]
        shown.append(notice)
    return shown
