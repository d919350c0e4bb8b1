"""A page of the web, as the card of `web_fetch` shows it."""

from collections.abc import Mapping
from typing import Any

from django import template

from agents.tools.web_fetch import parse_result
from agents.tools.web_hosts import name_host

register = template.Library()
register.filter("web_page", parse_result)


@register.filter
def web_host(arguments: Mapping[str, Any] | str) -> str:
    """Return the host that a call names, or what the model wrote instead of an address."""
    return name_host(str(arguments.get("url", "") if isinstance(arguments, Mapping) else arguments))
