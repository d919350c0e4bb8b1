"""Everything of one user as a file: what `chat` and `settings_ui` each know about them."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chat import conversations
from chat.export import json_document
from settings_ui import export
from settings_ui.asked import signed_in, user_of

SIP = 64 * 1024
"""Characters that are read in one go: the thread is everybody's."""


@never_cache
@signed_in
@require_GET
def everything(request: HttpRequest) -> HttpResponse:
    """Read and sent piece by piece, however much it is."""
    user = user_of(request)
    name = slugify(user.get_username())[:60] or "user"
    headers = {"Content-Disposition": f'attachment; filename="oracle-{name}.json"'}
    sips = _sips(document(user))
    return StreamingHttpResponse(sips, content_type="application/json", headers=headers)  # type: ignore[return-value]


def document(user: User) -> Iterator[str]:
    """Pieces of one JSON object."""
    yield _dumps(export.about(user))[:-1]
    yield from _list("changes", map(_dumps, export.changes(user)))
    yield from _list("tokens", map(_dumps, export.tokens(user)))
    yield from _conversations(user)
    yield from _list("runs", map(_dumps, export.runs(user)))
    yield "\n}\n"


def _conversations(user: User) -> Iterator[str]:
    """Each as its own export has it; one may be too long to be held as a whole."""
    own = conversations.of(user)
    separator = ""
    yield ',\n"conversations": ['
    for key in list(own.order_by("created_at", "pk").values_list("pk", flat=True)):
        found = own.select_related("project").filter(pk=key).first()
        if found is not None:  # not deleted meanwhile
            yield f"{separator}\n"
            yield from json_document(found, whole_tree=True)
            separator = ","
    yield "]"


def _list(name: str, items: Iterable[str]) -> Iterator[str]:
    yield f',\n"{name}": ['
    for number, item in enumerate(items):
        yield (",\n" if number else "\n") + item
    yield "\n]"


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


async def _sips(pieces: Iterator[str]) -> AsyncIterator[str]:
    """Read in the thread of the database, a little at a time."""

    def sip() -> str:
        taken: list[str] = []
        while sum(map(len, taken)) < SIP and (piece := next(pieces, None)) is not None:
            taken.append(piece)
        return "".join(taken)

    while text := await sync_to_async(sip)():
        yield text
