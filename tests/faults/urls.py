"""The site's addresses and, beside them, the doors of the fault suite."""

from django.urls import include, path

from tests.faults import backdoors

handler500 = "oracle_site.error_views.server_error"

urlpatterns = [
    path("door/start", backdoors.start),
    path("door/follow", backdoors.follow),
    path("door/decide", backdoors.decide),
    path("door/cancel", backdoors.cancel),
    path("door/linger", backdoors.linger),
    path("", include("oracle_site.urls")),
]
