"""Addresses of the chat."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from chat import accounts, keeping, pages, views

urlpatterns = [
    path("", pages.start, name="start"),
    path("new/", pages.new, name="new"),
    path("c/<uuid:conversation_id>/", pages.conversation, name="conversation"),
    path("c/<uuid:conversation_id>/earlier/<uuid:exchange_id>/", pages.earlier, name="earlier"),
    path("c/<uuid:conversation_id>/at/<uuid:exchange_id>/", keeping.found, name="found"),
    path("c/<uuid:conversation_id>/outline/", keeping.outline, name="outline"),
    path("c/<uuid:conversation_id>/tend/", keeping.tend, name="tend"),
    path("c/<uuid:conversation_id>/export.<str:form>", keeping.export, name="export"),
    path("c/<uuid:conversation_id>/delete/", keeping.delete, name="delete"),
    path("c/<uuid:conversation_id>/restore/", keeping.restore, name="restore"),
    path("conversations/", pages.listing, name="listing"),
    path("search/", keeping.search, name="search"),
    path("runs/", views.runs, name="runs"),
    path("runs/<uuid:run_id>/calls/<int:number>/", pages.call, name="call"),
    path("notes/<uuid:project_id>/<path:path>", pages.note, name="note"),
    path("sign-in/", accounts.SignIn.as_view(), name="sign-in"),
    path("sign-in/<str:uidb64>/<str:token>/", accounts.use_link, name="sign-in-link"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("password/", accounts.Password.as_view(), name="password"),
]
