"""The site's addresses and, beside them, the doors of the fault suite."""

from django.urls import include, path

from oracle_site import user_concurrency
from tests.faults import backdoors

# Behind the doors are many people and their streams, who all come from one address.
user_concurrency.FREE_PREFIXES += ("/door/",)

handler500 = "oracle_site.error_views.server_error"

urlpatterns = [
    path("door/start", backdoors.start),
    path("door/follow", backdoors.follow),
    path("door/decide", backdoors.decide),
    path("door/cancel", backdoors.cancel),
    path("door/linger", backdoors.linger),
    path("", include("oracle_site.urls")),
]
