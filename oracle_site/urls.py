"""Addresses of the whole site."""

from django.http import HttpRequest, HttpResponse
from django.urls import path


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. Says nothing about the database."""
    return HttpResponse("ok", content_type="text/plain")


urlpatterns = [path("healthz", healthz, name="healthz")]
