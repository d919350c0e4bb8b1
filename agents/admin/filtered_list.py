"""The list of runs as the filters of an address show it, for pages that are about those runs."""

import copy
from collections.abc import Collection
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.http import HttpRequest, QueryDict

NON_FILTER_PARAMS = frozenset({"o", "p", "_facets", "e"})
"""What an address of the list may say besides: order, page, and the like."""


class InvalidFilter(Exception):
    """Something in the address is no filter of the list."""


def get_filters(request: HttpRequest, besides: Collection[str] = ()) -> dict[str, str]:
    """Return the filters that an address names; `besides` are other parameters of the page."""
    return {
        name: str(request.GET[name])
        for name in request.GET
        if name not in NON_FILTER_PARAMS and name not in besides
    }


def build_filtered_list(model_admin: Any, request: HttpRequest, filters: dict[str, str]) -> Any:
    """Return the list as whoever asks would see it.

    A mistyped filter is refused: all runs instead of a few would be worse than none.
    """
    if set(filters) - model_admin.allowed_parameters():
        raise InvalidFilter
    filtered, query = copy.copy(request), QueryDict(mutable=True)
    query.update(filters)
    filtered.GET = query  # type: ignore[assignment]
    try:
        return model_admin.get_changelist_instance(filtered)
    except IncorrectLookupParameters:
        raise InvalidFilter from None
