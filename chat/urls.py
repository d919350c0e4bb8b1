"""Addresses of the chat."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from chat.accounts import views as account_views
from chat.accounts.invitations import invitation
from chat.views import (
    approvals,
    changes,
    chat,
    conversations,
    kept_answers,
    members,
    partials,
    projects,
    runs,
)
from chat.views.library import code_files, notes, threads

urlpatterns = [
    path("", chat.home, name="home"),
    path("new/", chat.new_conversation, name="new"),
    path("c/<uuid:conversation_id>/", chat.conversation, name="conversation"),
    path(
        "c/<uuid:conversation_id>/earlier/<uuid:exchange_id>/",
        partials.earlier_exchanges,
        name="earlier-exchanges",
    ),
    path(
        "c/<uuid:conversation_id>/at/<uuid:exchange_id>/",
        conversations.go_to_exchange,
        name="exchange-redirect",
    ),
    path("c/<uuid:conversation_id>/outline/", conversations.outline, name="outline"),
    path("c/<uuid:conversation_id>/tend/", conversations.outline_action, name="outline-action"),
    path("c/<uuid:conversation_id>/export.<str:form>", conversations.export, name="export"),
    path("c/<uuid:conversation_id>/delete/", conversations.delete, name="delete"),
    path("c/<uuid:conversation_id>/restore/", conversations.restore, name="restore"),
    path("conversations/", partials.conversation_list, name="conversation-list"),
    path("search/", conversations.search, name="search"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<uuid:run_id>/", runs.run, name="run"),
    path("runs/<uuid:run_id>/calls/<int:number>/", partials.tool_call, name="call"),
    path("runs/<uuid:run_id>/changes/", changes.run_changes, name="run-changes"),
    path("runs/<uuid:run_id>/behaviour/", runs.run_behaviour, name="run-behaviour"),
    path("runs/<uuid:run_id>/rules/", runs.run_rules, name="run-rules"),
    path("runs/<uuid:run_id>/approval/", approvals.show, name="run-approval"),
    path("runs/<uuid:run_id>/decide/", approvals.decide, name="run-decide"),
    path("runs/<uuid:run_id>/undo/", changes.undo, name="undo-changes"),
    path("runs/<uuid:run_id>/keep/", kept_answers.keep_answer, name="keep-answer"),
    path("runs/<uuid:run_id>/rest/<int:part>/<int:block>/", partials.rest_of_answer, name="rest"),
    path("notes/<uuid:project_id>/<path:path>", notes.cited_note, name="note"),
    path("threads/<uuid:project_id>/<str:name>", threads.cited_thread, name="thread"),
    path("code/<uuid:project_id>/<path:path>", code_files.cited_file, name="code"),
    path("projects/", projects.list_projects, name="projects"),
    path("projects/create/", projects.create, name="project-create"),
    path("projects/sample/", projects.create_sample, name="project-sample"),
    path("projects/deleted/", projects.list_deleted, name="deleted-projects"),
    path("p/<slug:slug>/", projects.open_project, name="project-open"),
    path("p/<slug:slug>/settings/", projects.show, name="project"),
    path("p/<slug:slug>/rename/", projects.rename, name="project-rename"),
    path("p/<slug:slug>/asking/", projects.set_asking, name="project-asking"),
    path("p/<slug:slug>/archive/", projects.archive, name="project-archive"),
    path("p/<slug:slug>/unarchive/", projects.unarchive, name="project-unarchive"),
    path("p/<slug:slug>/delete/", projects.delete, name="project-delete"),
    path("p/<slug:slug>/restore/", projects.restore, name="project-restore"),
    path("p/<slug:slug>/leave/", members.leave, name="project-leave"),
    path("p/<slug:slug>/members/add/", members.add, name="member-add"),
    path("p/<slug:slug>/members/role/", members.change_role, name="member-role"),
    path("p/<slug:slug>/members/remove/", members.remove, name="member-remove"),
    path("p/<slug:slug>/links/create/", members.create_link, name="link-create"),
    path("p/<slug:slug>/links/revoke/", members.revoke_link, name="link-revoke"),
    path("invite/<str:token>/", invitation, name="invitation"),
    path("sign-in/", account_views.SignInView.as_view(), name="sign-in"),
    path("sign-in/<str:uidb64>/<str:token>/", account_views.use_link, name="sign-in-link"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("password/", account_views.PasswordView.as_view(), name="password"),
]
