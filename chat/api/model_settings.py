"""A person's model settings and limits, read and changed by the rules of the page.

A key goes in and is never shown.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse

from agents.core.config import LIMITS
from agents.endpoints.model_settings import (
    SETTING_NAMES,
    check_base_url,
    has_key,
    update_model_settings,
)
from agents.models import ModelSettings, UserAgentConfig
from agents.models.api_tokens import Scope
from agents.settings_service import SettingConflict, lock_settings, update_limits
from agents.web.throttling import WINDOW_SECONDS, Throttled
from chat.api import etags
from chat.api.errors import api_error
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.model_schemas import ModelSettingsPatch, ModelSettingsView
from chat.api.runtime import run_db
from chat.api.settings import get_limits
from chat.api.throttling import Rate

PATH = "settings/models"


@endpoint(
    "GET",
    PATH,
    "Your model settings and limits",
    scopes=[Scope.SETTINGS],
    answers=ModelSettingsView,
)
async def show_models(request: ApiRequest) -> HttpResponse:
    return _build_response(await run_db(partial(_show, request.user)))


@endpoint(
    "PATCH",
    PATH,
    "Change some model settings and limits",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=ModelSettingsPatch,
    answers=ModelSettingsView,
    errors=(409,),
    headers=etags.IF_MATCH,
)
async def change_model_settings(request: ApiRequest, body: Any) -> HttpResponse:
    """409 also says that a value cannot be used as things are: an address that is not allowed
    here, a key without a provider. Another provider brings its own base URL and key back."""
    values = body.model_dump(exclude={"version"}, exclude_unset=True)
    try:
        await check_base_url(request.user, values.get("base_url", "").strip())
        return _build_response(await run_db(partial(_change, request, values, body.version)))
    except Throttled as too_often:
        wait = {"Retry-After": str(WINDOW_SECONDS)}
        where = ("body", "base_url")
        raise api_error(429, where, str(too_often), "rate_limit", headers=wait) from None
    except SettingConflict:
        now = await run_db(partial(_show, request.user))
        raise etags.conflict_error("The model settings or limits", now) from None


def _change(request: ApiRequest, values: Mapping[str, Any], version: int | None) -> dict[str, Any]:
    user = request.user
    with transaction.atomic():
        limits, row = lock_settings(UserAgentConfig, user), lock_settings(ModelSettings, user)
        etags.check_seen_version(request, version, _version(row, limits))
        if chosen := {name: value for name, value in values.items() if name in LIMITS}:
            limits = update_limits(user, chosen)
        others = {name: value for name, value in values.items() if name not in LIMITS}
        return _serialize(update_model_settings(user, others), limits)


def _show(user: User) -> dict[str, Any]:
    return _serialize(ModelSettings.for_user(user), UserAgentConfig.for_user(user))


def _version(row: ModelSettings, limits: UserAgentConfig) -> int:
    """Return a number that grows with every change of either."""
    return row.version + limits.version - 1


def _serialize(row: ModelSettings, limits: UserAgentConfig) -> dict[str, Any]:
    return {
        "version": _version(row, limits),
        **{name: getattr(row, name) for name in SETTING_NAMES},
        **get_limits(limits),
        "has_key": has_key(row),
    }


def _build_response(values: Mapping[str, Any]) -> HttpResponse:
    return json_response(ModelSettingsView(**values), ETag=etags.etag(values["version"]))
