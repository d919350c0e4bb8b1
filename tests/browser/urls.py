"""The site's addresses and, beside them, the doors of the browser tests."""

from django.urls import include, path

from tests.browser import backdoors

handler500 = "oracle_site.error_views.server_error"

urlpatterns = [
    path("door/person", backdoors.person),
    path("door/enter", backdoors.enter),
    path("door/change", backdoors.change),
    path("door/changers", backdoors.changers),
    path("door/limits", backdoors.limits),
    path("door/note", backdoors.note),
    path("door/runs", backdoors.runs),
    path("door/talk", backdoors.talk),
    path("door/titles", backdoors.titles),
    path("", include("oracle_site.urls")),
]
