"""Which answers somebody may get, and everything that an answer says."""

from typing import Any

from asgiref.sync import async_to_sync

from tests.access.addresses import Access
from tests.access.scene import PLACES

GONE, REFUSED = {404, 410}, {403}
FINE = {200, 201, 204, 302, 409, 422}
"""Done, or not done for a reason that has nothing to do with who asks."""
SIGN_IN = {302, 204, 401}


def expect(access: Access, who: str, state: str) -> set[int]:
    """Which statuses somebody may get."""
    if access in (Access.PUBLIC, Access.INVITED):
        return {*FINE, *GONE, 503}  # a server that is not ready says so
    if who == "anonymous":
        return SIGN_IN
    if access is Access.OWN:
        return FINE | GONE
    if access is Access.WRITER:
        return FINE if who == "owner" else GONE
    if access is Access.AUTHOR:
        return FINE | GONE if who == "owner" and state != "deleted" else GONE
    if access is Access.UNDELETE:
        done = FINE if state == "deleted" else FINE | GONE
        return done if who == "owner" else GONE | REFUSED
    if who not in PLACES or state == "deleted":
        return GONE
    if access is Access.WRITE and (who == "reader" or state == "archived"):
        return REFUSED
    if access is Access.WITHDRAW:
        return FINE if who == "owner" and state != "archived" else REFUSED
    return REFUSED if access is Access.MANAGE and who != "owner" else FINE


def may_change(access: Access, expected: set[int]) -> bool:
    """Whether what somebody may do there can change rows of the project."""
    return access is Access.INVITED or (access is not Access.OWN and bool(expected & FINE))


def read(response: Any) -> str:
    """Everything that a response says."""
    headers = "".join(f"{name}: {value}\n" for name, value in response.items())
    if not response.streaming:
        return headers + str(response.content.decode(errors="replace"))

    async def collect() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])

    return headers + async_to_sync(collect)().decode(errors="replace")
