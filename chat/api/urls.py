"""The route table of the API: every endpoint, in the order that the document shows them."""

import json
from functools import lru_cache
from itertools import groupby

from django.http import HttpResponse
from django.urls import URLPattern, path, re_path

from chat.api import conversations, oracle, settings
from chat.api.endpoints import Endpoint, endpoint, nothing_here, view_of
from chat.api.openapi import document
from chat.api.reading import JSON


@endpoint("GET", "openapi.json", "This document", answers={200: JSON})
async def describe() -> HttpResponse:
    headers = {"Cache-Control": "public, max-age=300"}
    return HttpResponse(_document(), content_type=JSON, headers=headers)


@lru_cache(maxsize=1)
def _document() -> str:
    """Made at the first request: by then every decision tree is known."""
    return json.dumps(document(ENDPOINTS), indent=1)


ENDPOINTS: tuple[Endpoint, ...] = (
    oracle.ask_whole,
    oracle.ask_stream,
    oracle.show_run,
    oracle.follow_run,
    oracle.cancel_run,
    oracle.list_projects,
    conversations.list_conversations,
    conversations.show_conversation,
    conversations.rename_conversation,
    conversations.delete_conversation,
    conversations.restore_conversation,
    conversations.export_conversation,
    settings.show_config,
    settings.replace_config,
    settings.change_config,
    settings.reset_config,
    describe,
)


def _patterns() -> list[URLPattern]:
    by_path = groupby(ENDPOINTS, key=lambda each: each.path)
    return [path(where, view_of(list(found))) for where, found in by_path]  # type: ignore[arg-type]  # async


app_name = "api"
urlpatterns = [*_patterns(), re_path(r"^", nothing_here)]
