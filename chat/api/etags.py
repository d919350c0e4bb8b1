"""Versions of settings: two programs that saw the same one cannot overwrite each other.

`version` stands in the body, or as ETag and If-Match in the headers.
"""

from collections.abc import Mapping
from typing import Any

from agents.settings_service import SettingConflict
from chat.api.errors import ApiError, api_error
from chat.api.framework import ApiRequest

IF_MATCH = {"If-Match": "The ETag you saw. If it has changed since: 409."}


def etag(version: int) -> str:
    return f'"{version}"'


def check_seen_version(request: ApiRequest, version: int | None, present: int) -> None:
    """Raise SettingConflict if the request has seen another version than the `present` one.

    Called while the settings are locked, so that nobody changes them in between.
    """
    tags = request.http_request.headers.get("If-Match", "").strip()
    matches = tags in ("", "*") or etag(present) in [tag.strip() for tag in tags.split(",")]
    if version not in (None, present) or not matches:
        raise SettingConflict("version", present)


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
