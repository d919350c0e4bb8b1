"""Entries of threads, as the cards of the thread tools show them."""

from collections.abc import Mapping
from typing import Any

from django import template

from chat.rendering.thread_results import read_entries

register = template.Library()
register.filter("thread_entries", read_entries)


@register.filter
def argument(arguments: Mapping[str, Any] | str, name: str) -> str:
    """Return one argument of a call, in words; nothing where the model wrote none."""
    value = arguments.get(name, "") if isinstance(arguments, Mapping) else ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
