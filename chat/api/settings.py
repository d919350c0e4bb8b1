"""A person's limits: read, replaced, changed, reset. Every change is recorded by whoever made it.

`version` (in the body, or as ETag and If-Match) keeps two programs from overwriting each other.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse

from agents.core.config import LIMITS
from agents.models import UserAgentConfig
from agents.models.changes import ChangedElsewhere, change_limits
from agents.models.tokens import Scope
from chat.api.endpoints import Call, endpoint, json_response
from chat.api.errors import Refused, refused
from chat.api.here import work
from chat.api.limits import Rate
from chat.api.schemas import AgentConfigPatch, AgentConfigPut, AgentConfigReset, AgentConfigView

PATH = "settings/agent-config"
IF_MATCH = {"If-Match": "The ETag that was seen. If it is another one now: 409."}


@endpoint("GET", PATH, "Your limits", scopes=[Scope.SETTINGS], answers=AgentConfigView)
async def show_config(call: Call) -> HttpResponse:
    return _told(await work(lambda: UserAgentConfig.of(call.user)))


@endpoint(
    "PUT",
    PATH,
    "Replace all limits",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=AgentConfigPut,
    answers=AgentConfigView,
    errors=(409,),
    headers=IF_MATCH,
)
async def replace_config(call: Call, body: Any) -> HttpResponse:
    return await _change(call, body.model_dump(exclude={"version"}), body.version)


@endpoint(
    "PATCH",
    PATH,
    "Change some limits",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=AgentConfigPatch,
    answers=AgentConfigView,
    errors=(409,),
    headers=IF_MATCH,
)
async def change_config(call: Call, body: Any) -> HttpResponse:
    values = body.model_dump(exclude={"version"}, exclude_unset=True)
    return await _change(call, values, body.version)


@endpoint(
    "POST",
    f"{PATH}/reset",
    "Back to the defaults: some limits, or all",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=AgentConfigReset,
    answers=AgentConfigView,
    errors=(409,),
    headers=IF_MATCH,
)
async def reset_config(call: Call, body: AgentConfigReset) -> HttpResponse:
    names = [name.value for name in body.fields or ()] or LIMITS
    return await _change(call, {name: LIMITS[name].default for name in names}, body.version)


async def _change(call: Call, values: Mapping[str, Any], version: int | None) -> HttpResponse:
    tags = call.request.headers.get("If-Match", "")

    def change() -> UserAgentConfig:
        seen = {} if version is None else {"version": version}
        if tags and tags.strip() != "*":
            present = UserAgentConfig.of(call.user).version
            if etag(present) not in [tag.strip() for tag in tags.split(",")]:
                raise ChangedElsewhere("version", present)
            seen.setdefault("version", present)
        return change_limits(call.user, values, seen=seen)

    try:
        return _told(await work(change))
    except ChangedElsewhere:
        raise _conflict(await work(lambda: UserAgentConfig.of(call.user))) from None


def etag(version: int) -> str:
    return f'"{version}"'


def _values(row: UserAgentConfig) -> dict[str, Any]:
    return {"version": row.version, **row.to_config().model_dump()}


def _told(row: UserAgentConfig) -> HttpResponse:
    return json_response(AgentConfigView(**_values(row)), ETag=etag(row.version))


def _conflict(row: UserAgentConfig) -> Refused:
    return refused(
        409,
        ("body", "version"),
        f"The limits were changed elsewhere: this is version {row.version} now. "
        "Nothing was stored; look at them, then send your change with that version.",
        "conflict",
        about=_values(row),
        headers={"ETag": etag(row.version)},
    )
