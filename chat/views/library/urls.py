"""Addresses of the library."""

from django.urls import path

from chat.views.library import folders, notes, search

urlpatterns = [
    path("", folders.home, name="library-home"),
    path("<slug:slug>/", folders.folder, name="library"),
    path("<slug:slug>/search/", search.search, name="library-search"),
    path("<slug:slug>/new/", notes.new, name="library-new"),
    path("<slug:slug>/preview/", notes.preview, name="library-preview"),
    path("<slug:slug>/notes/<path:path>", notes.note, name="library-note"),
    path("<slug:slug>/edit/<path:path>", notes.edit, name="library-edit"),
]
