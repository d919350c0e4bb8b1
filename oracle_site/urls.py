"""Addresses of the whole site."""

from django.contrib import admin
from django.urls import include, path

from oracle_site.data_export import export_user_data
from oracle_site.health import healthz, readyz
from settings_ui.views.usage import usage

handler500 = "oracle_site.error_views.server_error"

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("admin/", admin.site.urls),
    path("settings/data/export.json", export_user_data, name="export-everything"),
    path("settings/", include("settings_ui.urls")),
    path("usage/", usage, name="usage"),
    path("api/", include("chat.api.urls")),
    path("library/", include("chat.views.library.urls")),
    path("", include("chat.urls")),
]
