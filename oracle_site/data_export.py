"""Everything of one user as a file: what `chat` and `settings_ui` each know about them."""

from collections.abc import Iterable, Iterator

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.web.formatting import dump_json
from agents.web.requests import get_user, sign_in_required
from agents.web.streaming import stream_download
from chat.conversations import queries
from chat.export import json_document
from settings_ui import data_export


@never_cache
@sign_in_required()
@require_GET
def export_user_data(request: HttpRequest) -> HttpResponse:
    """Read and sent piece by piece, however much it is."""
    user = get_user(request)
    name = slugify(user.get_username())[:60] or "user"
    file = f"oracle-{name}.json"
    response: HttpResponse = stream_download(iter_document(user), "application/json", file)
    return response


def iter_document(user: User) -> Iterator[str]:
    """Yield pieces of one JSON object."""
    yield dump_json(data_export.serialize_profile(user))[:-1]
    yield from _iter_list("changes", map(dump_json, data_export.iter_changes(user)))
    yield from _iter_list("tokens", map(dump_json, data_export.iter_tokens(user)))
    yield from _iter_conversations(user)
    yield from _iter_list("runs", map(dump_json, data_export.iter_runs(user)))
    yield from _iter_list("entries", map(dump_json, data_export.iter_entries(user)))
    yield from _iter_list("rules", map(dump_json, data_export.iter_rules(user)))
    yield from _iter_list("behaviours", map(dump_json, data_export.iter_behaviours(user)))
    texts = data_export.iter_behaviour_texts(user)
    yield from _iter_list("behaviour_texts", map(dump_json, texts))
    yield from _iter_list("switches", map(dump_json, data_export.iter_switches(user)))
    yield from _iter_list("rule_states", map(dump_json, data_export.iter_rule_states(user)))
    yield from _iter_list("reminders", map(dump_json, data_export.iter_reminders(user)))
    yield from _iter_list("approvals", map(dump_json, data_export.iter_approvals(user)))
    yield "\n}\n"


def _iter_conversations(user: User) -> Iterator[str]:
    """Yield each as its own export has it; one may be too long to be held as a whole."""
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
