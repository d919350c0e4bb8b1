"""Addresses of the whole site."""

from django.contrib import admin
from django.urls import include, path

from oracle_site.export import everything
from oracle_site.probes import healthz, readyz
from settings_ui.usage import usage

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("admin/", admin.site.urls),
    path("settings/data/export.json", everything, name="export-everything"),
    path("settings/", include("settings_ui.urls")),
    path("usage/", usage, name="usage"),
    path("api/", include("chat.api.urls")),
    path("", include("chat.urls")),
]
