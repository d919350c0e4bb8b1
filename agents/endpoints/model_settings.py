"""Change which models answer somebody, and how: one set of rules, for the pages and for programs.

What a value may be is read from its column. A key goes in and never comes out again.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction

from agents.core.config import ConfigError
from agents.endpoints.encryption import mask
from agents.endpoints.keys import decrypt_key, encrypt_key
from agents.endpoints.probe import resolve_host
from agents.endpoints.selection import MAX_KEY_LENGTH, get_policy, own_base_url
from agents.llm import (
    EndpointNotAllowed,
    LookupRefused,
    LookupsBusy,
    allowed_providers,
    parse_base_url,
    resolve_base_url,
)
from agents.models import ModelSettings, ProviderSettings
from agents.settings_service import update_settings
from agents.web.throttling import check_rate

KEY = "api_key"
"""What a key is called where it is set; it is stored sealed, in a column of another name."""
SETTING_NAMES = (
    "provider",
    "base_url",
    "oracle_model",
    "subagent_model",
    "thinking_enabled",
    "reasoning_effort",
    "librarian_timeout",
    "delegate_long_results",
    "max_context_nodes",
)
"""Every setting that can be shown."""


LOOKUPS_UNFINISHED = "Your earlier lookups of host names have not finished. Try again in a minute."
LOOKUPS_BUSY = "All lookups of host names are busy. Try again in a minute."


class UnusableConfigError(ConfigError):
    """Values that are well-formed and cannot be used as things are: see what each problem says."""


def update_model_settings(
    user: User, values: Mapping[str, Any], *, expected: Mapping[str, Any] | None = None
) -> ModelSettings:
    """Store model settings and record who changed what; ConfigError names every problem.

    A key may be among them; an empty one removes it. A new base URL has to pass `check_base_url`
    before. Another provider brings back the base URL and the key that were entered for it last.
    """
    given = {n: v.strip() if isinstance(v, str) else v for n, v in values.items()}
    problems = {n: p for n, v in given.items() if n != KEY and (p := _find_problem(n, v))}
    if problems:
        raise ConfigError(problems)
    _check_url_policy(given.get("base_url"))
    secret = given.pop(KEY, None)
    with transaction.atomic():
        if "provider" in given:
            base_url = _switch_provider(user, given["provider"], given.get("base_url"))
            given |= {} if base_url is None else {"base_url": base_url}
        row = update_settings(ModelSettings, user, given, expected=expected)
        return row if secret is None else _store_key(user, row, secret)


async def check_base_url(user: User, base_url: str) -> None:
    """Refuse a base URL that people may not use, by what it resolves to as well.

    UnusableConfigError says why; Throttled: too many names were looked up.
    """
    _check_url_policy(base_url)
    if not base_url or (place := parse_base_url(base_url)).is_ip:
        return
    await sync_to_async(check_rate, thread_sensitive=False)(user, "resolve")
    try:
        get_policy().check_addresses(place, await resolve_host(user.pk, place))
    except EndpointNotAllowed as refused:
        raise UnusableConfigError({"base_url": str(refused)}) from None
    except LookupsBusy:
        raise UnusableConfigError({"base_url": LOOKUPS_BUSY}) from None
    except LookupRefused:
        raise UnusableConfigError({"base_url": LOOKUPS_UNFINISHED}) from None


def has_key(chosen: ModelSettings) -> bool:
    """Return whether there is a key for the endpoint that is chosen now."""
    try:
        return bool(chosen.provider and decrypt_key(chosen, own_base_url(chosen)))
    except EndpointNotAllowed:
        return False


# -- another provider -----------------------------------------------------------------------------


def _switch_provider(user: User, provider: str, base_url: str | None) -> str | None:
    """Put away what was entered for the chosen provider, and take out what was for another.

    Returns the base URL to be stored: the given one, else the one that was entered for it last. The
    key is the one for that endpoint. If the provider stays the same, nothing is put away.
    """
    chosen = ModelSettings.objects.select_for_update().get(pk=ModelSettings.for_user(user).pk)
    if provider == chosen.provider:
        return base_url
    rows = ProviderSettings.objects.filter(user=user)
    if chosen.base_url or chosen.sealed_key:
        entered = {name: getattr(chosen, name) for name in ("base_url", "sealed_key", "key_hint")}
        rows.update_or_create(user=user, provider=chosen.provider, defaults=entered)
    own = rows.filter(provider=provider).first() or ProviderSettings(user=user, provider=provider)
    address = own.base_url if base_url is None else base_url
    # Once there was one key for all providers: it may have been put away with another one.
    others = rows.exclude(provider=provider)
    strays = (row for row in others if not _is_key_for(row, row.provider, row.base_url))
    holders = (row for row in chain([own], strays) if _is_key_for(row, provider, address))
    holder = next(holders, own)
    taken = {"sealed_key": holder.sealed_key, "key_hint": holder.key_hint}
    ModelSettings.objects.filter(pk=chosen.pk).update(**taken)
    if holder is not own:
        holder.sealed_key, holder.key_hint = own.sealed_key, own.key_hint
        holder.save()
    rows.filter(provider=provider).delete()
    return address


def _is_key_for(row: ProviderSettings, provider: str, base_url: str) -> bool:
    try:
        return bool(decrypt_key(row, resolve_base_url(provider, base_url)))
    except EndpointNotAllowed:
        return False


# -- what a value may be --------------------------------------------------------------------------


def provider_names() -> tuple[str, ...]:
    """Return the providers that can be chosen here and now; empty is the site's own."""
    return ("", *(provider.name for provider in allowed_providers(get_policy())))


def get_bounds(name: str) -> tuple[int, int]:
    """Return lowest and highest value of a number."""
    column: Any = ModelSettings._meta.get_field(name)
    found = {type(validator): validator.limit_value for validator in column._validators}
    return found[MinValueValidator], found[MaxValueValidator]


def describe_expected(name: str) -> str:
    """Say what a setting may be, in a sentence."""
    if name == KEY:
        return (
            f"A key has at most {MAX_KEY_LENGTH} characters, all ASCII, no spaces. Copy it again."
        )
    column: Any = ModelSettings._meta.get_field(name)
    most = f"at most {column.max_length} characters"
    if name == "base_url":
        return f"Must be empty, or an address like https://models.example/v1, of {most}."
    if names := _choices_for(name):
        others = ", or empty for this site's own" if "" in names else ""
        return f"Must be one of: {', '.join(filter(None, names)) or 'none'}{others}."
    match column:
        case models.BooleanField():
            return "Must be true or false."
        case models.IntegerField():
            low, high = get_bounds(name)
            return f"Must be a whole number from {low:,} to {high:,}."
    return f"Must have {most}, all visible."


def _find_problem(name: str, value: Any) -> str:
    """Return what is wrong with a value; empty if nothing is."""
    if name not in SETTING_NAMES:
        return f"There is no such setting. Known: {', '.join(SETTING_NAMES)}."
    return "" if _is_valid(name, value) else describe_expected(name)


def _is_valid(name: str, value: Any) -> bool:
    column: Any = ModelSettings._meta.get_field(name)
    if names := _choices_for(name):
        return value in names
    match column:
        case models.BooleanField():
            return isinstance(value, bool)
        case models.IntegerField():
            low, high = get_bounds(name)
            return type(value) is int and low <= value <= high
    return isinstance(value, str) and len(value) <= column.max_length and value.isprintable()


def _choices_for(name: str) -> tuple[str, ...]:
    if name == "provider":
        return provider_names()
    column: Any = ModelSettings._meta.get_field(name)
    return tuple(value for value, _ in column.choices or ())


def _check_url_policy(base_url: str | None) -> None:
    """Check a URL as far as possible without resolving."""
    if not base_url:
        return
    try:
        get_policy().check(base_url)
    except EndpointNotAllowed as refused:
        raise UnusableConfigError({"base_url": str(refused)}) from None


# -- keys -----------------------------------------------------------------------------------------


def _store_key(user: User, row: ModelSettings, secret: str) -> ModelSettings:
    """Return the row with another key, or without one."""
    kept, new = "", mask(secret)
    if secret:
        _check_key(row, secret)
        kept = encrypt_key(parse_base_url(own_base_url(row)), secret)
    changed = update_settings(
        ModelSettings, user, {"sealed_key": kept}, recorded_as={"sealed_key": (row.key_hint, new)}
    )
    ModelSettings.objects.filter(user=user).update(key_hint=new)
    changed.key_hint = new
    return changed


def _check_key(row: ModelSettings, secret: str) -> None:
    """Say why a key cannot be stored; it is not repeated, also not in part."""
    is_plain = secret.isascii() and secret.isprintable() and " " not in secret
    if len(secret) > MAX_KEY_LENGTH or not is_plain:
        raise ConfigError({KEY: describe_expected(KEY)})
    if not row.provider:
        problem = "Choose a provider first: a key is kept for one endpoint, and sent to no other."
        raise UnusableConfigError({KEY: problem})
    try:
        get_policy().check(own_base_url(row))
    except EndpointNotAllowed as refused:
        raise UnusableConfigError({KEY: str(refused)}) from None
