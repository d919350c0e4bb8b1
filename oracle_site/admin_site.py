"""Django's admin with the site's own doors: one page to sign in, one to sign out."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect

View = Callable[..., HttpResponseBase]
REMOVED_URL_NAMES = {"autocomplete", "view_on_site", "password_change_done"}
"""Addresses of Django's that nothing here uses."""


class AuditConfig(AdminConfig):
    default_site = "oracle_site.admin_site.AuditSite"


class AuditSite(AdminSite):
    """Who is signed out is sent to sign in; who may not enter is told so, without a second form."""

    site_header = site_title = "Oracle"
    index_title = "Audit"
    enable_nav_sidebar = False

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        guarded: View = super().admin_view(view, cacheable)

        @wraps(guarded)
        def door(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return _redirect_to_sign_in(request.get_full_path())
            if not self.has_permission(request):
                raise PermissionDenied
            return guarded(request, *args, **kwargs)

        return door

    def get_urls(self) -> list[Any]:
        return [
            url for url in super().get_urls() if getattr(url, "name", "") not in REMOVED_URL_NAMES
        ]

    def login(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return _redirect_to_sign_in(request.GET.get("next") or request.path.removesuffix("login/"))

    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        from django.contrib.auth.views import LogoutView  # imports rows, too early for this module

        return LogoutView.as_view()(request)

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        return redirect("password")


def _redirect_to_sign_in(then: str) -> HttpResponseBase:
    from django.contrib.auth.views import redirect_to_login  # the same

    return redirect_to_login(then)
