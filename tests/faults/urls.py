"""The site's addresses and, beside them, the doors of the fault suite."""

from django.urls import include, path

from tests.faults import doors

urlpatterns = [
    path("door/start", doors.start),
    path("door/follow", doors.follow),
    path("door/cancel", doors.cancel),
    path("door/linger", doors.linger),
    path("", include("oracle_site.urls")),
]
