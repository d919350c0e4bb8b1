"""Addresses of the settings, below /settings/."""

from django.urls import path

from settings_ui.views import (
    agent,
    appearance,
    changes,
    data,
    models,
    notifications,
    rules,
    tokens,
)

urlpatterns = [
    path("", agent.agent, name="settings"),
    path("reset/", agent.reset_all, name="reset-settings"),
    path("limits/<slug:name>/", agent.limit, name="setting"),
    path("limits/<slug:name>/reset/", agent.reset, name="reset-setting"),
    path("appearance/", appearance.page, name="appearance"),
    path("notifications/", notifications.page, name="notifications"),
    path("notifications/<slug:name>/switch/", notifications.switch, name="switch-notification"),
    path("reminders/", notifications.reminders, name="switch-reminders"),
    path("reminders/<int:number>/delete/", notifications.remove_reminder, name="delete-reminder"),
    path("data/", data.data, name="data"),
    path("tokens/", tokens.page, name="tokens"),
    path("tokens/<int:number>/revoke/", tokens.revoke, name="revoke-token"),
    path("changes/", changes.page, name="setting-changes"),
    path("rules/", rules.page, name="rules"),
    path("rules/new/", rules.new, name="rule-new"),
    path("rules/check/", rules.check, name="rule-check"),
    path("rules/try/", rules.attempt, name="rule-try"),
    path("rules/<str:rule_id>/", rules.rule, name="rule"),
    path("rules/<str:rule_id>/switch/", rules.switch, name="rule-switch"),
    path("rules/<str:rule_id>/delete/", rules.delete, name="rule-delete"),
    path("models/", models.page, name="settings-models"),
    path("models/key/", models.key, name="model-key"),
    path("models/list/", models.model_list, name="model-list"),
    path("models/test/", models.test, name="model-test"),
    path("models/<slug:name>/", models.setting, name="model-setting"),
    path("models/<slug:name>/reset/", models.reset, name="reset-model-setting"),
]
