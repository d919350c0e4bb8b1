"""The site's addresses and, beside them, the doors of the browser tests."""

from django.urls import include, path

from tests.browser import doors

urlpatterns = [
    path("door/person", doors.person),
    path("door/enter", doors.enter),
    path("door/change", doors.change),
    path("door/changers", doors.changers),
    path("door/limits", doors.limits),
    path("door/note", doors.note),
    path("door/runs", doors.runs),
    path("door/talk", doors.talk),
    path("door/titles", doors.titles),
    path("", include("oracle_site.urls")),
]
