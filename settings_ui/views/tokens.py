"""Tokens for programs: made, shown once, listed, revoked."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from agents.core.sanitize import replace_unstorable
from agents.models import ApiToken, SettingChange
from agents.models.api_tokens import Scope, known_scopes
from agents.web.requests import get_user, sign_in_required
from settings_ui.views.changes import TOKEN_CHANGE

MAX_NAME_LENGTH = 80
MAX_REVOKED_LISTED = 10
REVOKED_LISTED_FOR = timedelta(days=30)


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Show the list. A new token is in the answer to the form that asked for it alone."""
    if request.method == "GET":
        return _render_page(request, {"chosen": [Scope.ASK.value, Scope.READ.value]})
    name = " ".join(replace_unstorable(request.POST.get("name", "")).split())
    scopes = request.POST.getlist("scopes")
    try:
        made, text = _create_token(get_user(request), name, scopes)
    except ValidationError as refused:
        errors = refused.message_dict if hasattr(refused, "error_dict") else {}
        form = {"name": name[:MAX_NAME_LENGTH], "chosen": scopes, "errors": errors}
        return _render_page(
            request, {**form, "problem": "" if errors else refused.messages[0]}, 422
        )
    return _render_page(request, {"made": made, "text": text, "chosen": scopes})


@sign_in_required()
@require_POST
def revoke(request: HttpRequest, number: int) -> HttpResponse:
    user = get_user(request)
    token = ApiToken.objects.filter(user=user, pk=number, revoked_at=None).first()
    if token is None:
        raise Http404("You have no such token.")
    token.revoke()
    SettingChange.objects.create(
        user=user, by=user, name=TOKEN_CHANGE, old=_describe_token(token), new=""
    )
    messages.success(request, f"{token} is revoked. Programs that use it are now refused.")
    return redirect("tokens")


@transaction.atomic
def _create_token(user: User, name: str, scopes: list[str]) -> tuple[ApiToken, str]:
    """Create a token. A name that is taken is refused: a form sent twice makes one token."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    problems = {"name": _check_name(user, name), "scopes": _check_scopes(scopes)}
    if any(problems.values()):
        raise ValidationError({field: text for field, text in problems.items() if text})
    token, text = ApiToken.issue(user, name, list(dict.fromkeys(scopes)))
    SettingChange.objects.create(
        user=user, by=user, name=TOKEN_CHANGE, old="", new=_describe_token(token)
    )
    return token, text


def _check_name(user: User, name: str) -> str:
    if not name:
        return "Give it a name."
    if len(name) > MAX_NAME_LENGTH:
        return f"A name has at most {MAX_NAME_LENGTH} characters."
    taken = ApiToken.objects.filter(user=user, name=name, revoked_at=None).exists()
    return "You already have a token with this name. Choose another." if taken else ""


def _check_scopes(scopes: list[str]) -> str:
    try:
        known_scopes(scopes)
    except ValidationError as refused:
        return str(refused.messages[0])
    return ""


def _describe_token(token: ApiToken) -> str:
    return f"{token}: {', '.join(token.scopes)}"


def _render_page(request: HttpRequest, more: dict[str, Any], status: int = 200) -> HttpResponse:
    own = ApiToken.objects.filter(user=get_user(request))
    late = own.filter(revoked_at__gt=timezone.now() - REVOKED_LISTED_FOR).order_by("-revoked_at")
    context = {
        "section": "tokens",
        "tokens": own.filter(revoked_at=None),
        "revoked": late[:MAX_REVOKED_LISTED],
        "scopes": Scope.choices,
        "max_name_length": MAX_NAME_LENGTH,
        **more,
    }
    return render(request, "settings/tokens.html", context, status=status)
