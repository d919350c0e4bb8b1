"""Versions of settings: two programs that saw the same one cannot overwrite each other.

`version` stands in the body, or as ETag and If-Match in the headers.
"""

from collections.abc import Mapping
from typing import Any

from agents.models import ModelSettings, UserAgentConfig
from agents.settings_service import SettingConflict
from chat.api.errors import ApiError, api_error
from chat.api.framework import ApiRequest

IF_MATCH = {"If-Match": "The ETag you saw. If it has changed since: 409."}
VersionedSettings = type[UserAgentConfig] | type[ModelSettings]


def etag(version: int) -> str:
    return f'"{version}"'


def get_seen_version(
    request: ApiRequest, kind: VersionedSettings, version: int | None
) -> dict[str, int]:
    """Return the version that the request has seen, if it says one; or SettingConflict."""
    tags = request.http_request.headers.get("If-Match", "")
    expected = {} if version is None else {"version": version}
    if tags and tags.strip() != "*":
        present = kind.for_user(request.user).version
        if etag(present) not in [tag.strip() for tag in tags.split(",")]:
            raise SettingConflict("version", present)
        expected.setdefault("version", present)
    return expected


def conflict_error(what: str, in_force: Mapping[str, Any]) -> ApiError:
    version = in_force["version"]
    return api_error(
        409,
        ("body", "version"),
        f"{what} were changed elsewhere: they are at version {version} now. "
        "Nothing was stored; look at them, then send your change with that version.",
        "conflict",
        context=in_force,
        headers={"ETag": etag(version)},
    )
