"""A person's limits: read, replaced, changed, reset. Every change is recorded with its author."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.http import HttpResponse

from agents.core.config import LIMITS
from agents.models import UserAgentConfig
from agents.models.api_tokens import Scope
from agents.settings_service import SettingConflict, lock_settings, update_limits
from chat.api import etags
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.runtime import run_db
from chat.api.schemas import AgentConfigPatch, AgentConfigPut, AgentConfigReset, AgentConfigView
from chat.api.throttling import Rate

PATH = "settings/agent-config"


@endpoint("GET", PATH, "Your limits", scopes=[Scope.SETTINGS], answers=AgentConfigView)
async def show_config(request: ApiRequest) -> HttpResponse:
    return _build_response(await run_db(lambda: UserAgentConfig.for_user(request.user)))


@endpoint(
    "PUT",
    PATH,
    "Replace all limits",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=AgentConfigPut,
    answers=AgentConfigView,
    errors=(409,),
    headers=etags.IF_MATCH,
)
async def replace_config(request: ApiRequest, body: Any) -> HttpResponse:
    return await _change(request, body.model_dump(exclude={"version"}), body.version)


@endpoint(
    "PATCH",
    PATH,
    "Change some limits",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=AgentConfigPatch,
    answers=AgentConfigView,
    errors=(409,),
    headers=etags.IF_MATCH,
)
async def change_config(request: ApiRequest, body: Any) -> HttpResponse:
    values = body.model_dump(exclude={"version"}, exclude_unset=True)
    return await _change(request, values, body.version)


@endpoint(
    "POST",
    f"{PATH}/reset",
    "Reset some limits, or all, to their defaults",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=AgentConfigReset,
    answers=AgentConfigView,
    errors=(409,),
    headers=etags.IF_MATCH,
)
async def reset_config(request: ApiRequest, body: AgentConfigReset) -> HttpResponse:
    names = [name.value for name in body.fields or ()] or LIMITS
    return await _change(request, {name: LIMITS[name].default for name in names}, body.version)


async def _change(
    request: ApiRequest, values: Mapping[str, Any], version: int | None
) -> HttpResponse:
    def change() -> UserAgentConfig:
        with transaction.atomic():
            row = lock_settings(UserAgentConfig, request.user)
            etags.check_seen_version(request, version, row.version)
            return update_limits(request.user, values)

    try:
        return _build_response(await run_db(change))
    except SettingConflict:
        now = await run_db(lambda: UserAgentConfig.for_user(request.user))
        raise etags.conflict_error("The limits", _serialize_row(now)) from None


def get_limits(row: UserAgentConfig) -> dict[str, int]:
    """Return the limits as their owner set them."""
    return row.to_config().model_dump()


def _serialize_row(row: UserAgentConfig) -> dict[str, Any]:
    return {"version": row.version, **get_limits(row)}


def _build_response(row: UserAgentConfig) -> HttpResponse:
    return json_response(AgentConfigView(**_serialize_row(row)), ETag=etags.etag(row.version))
