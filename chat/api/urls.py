"""The route table of the API: every endpoint, in the order that the document shows them."""

import json
from functools import lru_cache
from itertools import groupby

from django.http import HttpResponse
from django.urls import URLPattern, path, re_path

from chat.api import (
    approvals,
    behaviours,
    code,
    conversations,
    members,
    model_settings,
    notifications,
    projects,
    rules,
    runs,
    settings,
    threads,
)
from chat.api.framework import Endpoint, build_view, endpoint, not_found
from chat.api.openapi import build_document
from chat.api.parsing import JSON


@endpoint("GET", "openapi.json", "This document", answers={200: JSON})
async def describe() -> HttpResponse:
    headers = {"Cache-Control": "public, max-age=300"}
    return HttpResponse(_render_document(), content_type=JSON, headers=headers)


@lru_cache(maxsize=1)
def _render_document() -> str:
    """Render the document at the first request: by then every decision tree is known."""
    return json.dumps(build_document(ENDPOINTS), indent=1)


ENDPOINTS: tuple[Endpoint, ...] = (
    runs.ask_whole,
    runs.ask_stream,
    runs.show_run,
    runs.follow_run,
    runs.cancel_run,
    approvals.show_approval,
    approvals.decide_approval,
    projects.list_projects,
    projects.create_project,
    projects.show_project,
    projects.change_project,
    projects.delete_project,
    projects.restore_project,
    members.list_members,
    members.add_member,
    members.change_role,
    members.remove_member,
    members.list_invitations,
    members.create_invitation,
    members.revoke_invitation,
    code.search_code,
    code.show_code_file,
    code.find_definitions,
    code.find_references,
    code.show_map,
    threads.list_threads,
    threads.show_thread,
    threads.change_thread,
    threads.add_entry,
    threads.delete_entry,
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
    model_settings.show_models,
    model_settings.change_model_settings,
    rules.list_rules,
    rules.add_rule,
    rules.find_rule_problems,
    rules.try_rule,
    rules.show_rule,
    rules.replace_rule,
    rules.set_rule_mode,
    rules.remove_rule,
    behaviours.show_modes,
    behaviours.list_behaviours,
    behaviours.add_behaviour,
    behaviours.find_behaviour_problems,
    behaviours.try_behaviour,
    behaviours.show_behaviour,
    behaviours.replace_behaviour,
    behaviours.remove_behaviour,
    notifications.list_notifications,
    notifications.change_notification,
    notifications.preview_notification,
    notifications.list_reminders,
    notifications.change_reminders,
    notifications.remove_reminder,
    describe,
)


def _build_patterns() -> list[URLPattern]:
    by_path = groupby(ENDPOINTS, key=lambda each: each.path)
    return [path(where, build_view(list(found))) for where, found in by_path]  # type: ignore[arg-type]  # async


app_name = "api"
urlpatterns = [*_build_patterns(), re_path(r"^", not_found)]
