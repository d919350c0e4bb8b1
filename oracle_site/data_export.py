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

from agents.web.requests import get_user, sign_in_required
from chat.conversations import queries
from chat.export import json_document
from settings_ui import data_export

CHUNK_CHARS = 64 * 1024
"""Characters that are read in one go: the thread is everybody's."""


@never_cache
@sign_in_required()
@require_GET
def export_user_data(request: HttpRequest) -> HttpResponse:
    """Read and sent piece by piece, however much it is."""
    user = get_user(request)
    name = slugify(user.get_username())[:60] or "user"
    headers = {"Content-Disposition": f'attachment; filename="oracle-{name}.json"'}
    parts = _stream(iter_document(user))
    return StreamingHttpResponse(parts, content_type="application/json", headers=headers)  # type: ignore[return-value]


def iter_document(user: User) -> Iterator[str]:
    """Pieces of one JSON object."""
    yield _dumps(data_export.serialize_profile(user))[:-1]
    yield from _iter_list("changes", map(_dumps, data_export.iter_changes(user)))
    yield from _iter_list("tokens", map(_dumps, data_export.iter_tokens(user)))
    yield from _iter_conversations(user)
    yield from _iter_list("runs", map(_dumps, data_export.iter_runs(user)))
    yield "\n}\n"


def _iter_conversations(user: User) -> Iterator[str]:
    """Each as its own export has it; one may be too long to be held as a whole."""
    own = queries.for_user(user)
    separator = ""
    yield ',\n"conversations": ['
    for key in list(own.order_by("created_at", "pk").values_list("pk", flat=True)):
        found = own.select_related("project").filter(pk=key).first()
        if found is not None:  # not deleted meanwhile
            yield f"{separator}\n"
            yield from json_document(found, whole_tree=True)
            separator = ","
    yield "]"


def _iter_list(name: str, items: Iterable[str]) -> Iterator[str]:
    yield f',\n"{name}": ['
    for number, item in enumerate(items):
        yield (",\n" if number else "\n") + item
    yield "\n]"


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


async def _stream(pieces: Iterator[str]) -> AsyncIterator[str]:
    """Read in the thread of the database, a little at a time."""

    def read_chunk() -> str:
        taken: list[str] = []
        while sum(map(len, taken)) < CHUNK_CHARS and (piece := next(pieces, None)) is not None:
            taken.append(piece)
        return "".join(taken)

    while text := await sync_to_async(read_chunk)():
        yield text
