"""A person's model settings: read and changed, by the rules of the page. A key is never told."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpResponse

from agents.endpoints.model_settings import (
    SETTING_NAMES,
    check_base_url,
    has_key,
    update_model_settings,
)
from agents.models import ModelSettings
from agents.models.api_tokens import Scope
from agents.settings_service import SettingConflict
from agents.web.throttling import WINDOW_SECONDS, Throttled
from chat.api import etags
from chat.api.errors import api_error
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.model_schemas import ModelSettingsPatch, ModelSettingsView
from chat.api.runtime import run_db
from chat.api.throttling import Rate

PATH = "settings/models"


@endpoint("GET", PATH, "Your model settings", scopes=[Scope.SETTINGS], answers=ModelSettingsView)
async def show_models(request: ApiRequest) -> HttpResponse:
    return _build_response(
        await run_db(lambda: _serialize_row(ModelSettings.for_user(request.user)))
    )


@endpoint(
    "PATCH",
    PATH,
    "Change some model settings",
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
        now = await run_db(lambda: _serialize_row(ModelSettings.for_user(request.user)))
        raise etags.conflict_error("The model settings", now) from None


def _change(request: ApiRequest, values: Mapping[str, Any], version: int | None) -> dict[str, Any]:
    seen = etags.get_seen_version(request, ModelSettings, version)
    return _serialize_row(update_model_settings(request.user, values, expected=seen))


def _serialize_row(row: ModelSettings) -> dict[str, Any]:
    shown = {name: getattr(row, name) for name in SETTING_NAMES}
    return {"version": row.version, **shown, "has_key": has_key(row)}


def _build_response(values: Mapping[str, Any]) -> HttpResponse:
    return json_response(ModelSettingsView(**values), ETag=etags.etag(values["version"]))
