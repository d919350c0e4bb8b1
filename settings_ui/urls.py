"""Addresses of the settings, below /settings/."""

from django.urls import path

from settings_ui import appearance, log, models_page, tokens, views

urlpatterns = [
    path("", views.agent, name="settings"),
    path("reset/", views.reset_all, name="reset-settings"),
    path("limits/<slug:name>/", views.limit, name="setting"),
    path("limits/<slug:name>/reset/", views.reset, name="reset-setting"),
    path("appearance/", appearance.page, name="appearance"),
    path("data/", views.data, name="data"),
    path("tokens/", tokens.page, name="tokens"),
    path("tokens/<int:number>/revoke/", tokens.revoke, name="revoke-token"),
    path("changes/", log.page, name="setting-changes"),
    path("models/", models_page.page, name="settings-models"),
    path("models/key/", models_page.key, name="model-key"),
    path("models/list/", models_page.listing, name="model-list"),
    path("models/test/", models_page.test, name="model-test"),
    path("models/<slug:name>/", models_page.setting, name="model-setting"),
    path("models/<slug:name>/reset/", models_page.reset, name="reset-model-setting"),
]
