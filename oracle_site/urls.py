"""Addresses of the whole site."""

from django.urls import include, path

from oracle_site.probes import healthz, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("", include("chat.urls")),
]
