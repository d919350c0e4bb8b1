"""Which template shows a tool call: its package's own, or the one that all tools share."""

from functools import cache

from django.template import Engine, Template, TemplateDoesNotExist

from agents.extensions import CARD_TEMPLATE
from agents.tools.registry import TOOLS

SHARED_CARD = "chat/fragments/_card.html"


def get_card_template(tool: str) -> Template:
    """Return the template for calls of a tool."""
    own = _find_own_card(tool) if tool in TOOLS else None
    return _get_shared_card() if own is None else own


def has_own_card(tool: str) -> bool:
    """Return whether a tool brings its own. The name is the model's, which may write anything."""
    return tool in TOOLS and _find_own_card(tool) is not None


@cache
def _find_own_card(tool: str) -> Template | None:
    try:
        return Engine.get_default().get_template(CARD_TEMPLATE.format(tool=tool))
    except TemplateDoesNotExist:
        return None


@cache
def _get_shared_card() -> Template:
    return Engine.get_default().get_template(SHARED_CARD)
