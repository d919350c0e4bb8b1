"""Addresses of the settings, below /settings/."""

from typing import Any

from django.urls import URLPattern, path

from settings_ui.views import (
    agent,
    appearance,
    behaviours,
    changes,
    data,
    models,
    notifications,
    rules,
    text_editor,
    tokens,
)


def list_editor_paths(editor: text_editor.TextEditor[Any]) -> list[URLPattern]:
    """Return the addresses that every kind of text has, all with one editor behind them."""
    here, noun, given = editor.section, editor.noun, {"editor": editor}
    return [
        path(f"{here}/new/", text_editor.new, given, name=f"{noun}-new"),
        path(f"{here}/check/", text_editor.check, given, name=f"{noun}-check"),
        path(f"{here}/try/", text_editor.attempt, given, name=f"{noun}-try"),
        path(f"{here}/<str:text_id>/", text_editor.edit, given, name=noun),
        path(f"{here}/<str:text_id>/delete/", text_editor.delete, given, name=f"{noun}-delete"),
    ]


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
    *list_editor_paths(rules.EDITOR),
    path("rules/<str:rule_id>/switch/", rules.switch, name="rule-switch"),
    path("behaviours/", behaviours.page, name="behaviours"),
    *list_editor_paths(behaviours.EDITOR),
    path("models/", models.page, name="settings-models"),
    path("models/key/", models.key, name="model-key"),
    path("models/list/", models.model_list, name="model-list"),
    path("models/test/", models.test, name="model-test"),
    path("models/<slug:name>/", models.setting, name="model-setting"),
    path("models/<slug:name>/reset/", models.reset, name="reset-model-setting"),
]
