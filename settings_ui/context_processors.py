"""What every template may use."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from agents.models import Appearance


def theme(request: HttpRequest) -> dict[str, object]:
    """Return the user's theme, asked for only by a page that has a frame to put it on."""
    return {"theme": SimpleLazyObject(lambda: _get_theme(request))}


def _get_theme(request: HttpRequest) -> str:
    user = getattr(getattr(request, "user", None), "pk", None)
    if user is None:
        return ""
    chosen = Appearance.objects.filter(user=user).values_list("theme", flat=True)
    return chosen.first() or ""
