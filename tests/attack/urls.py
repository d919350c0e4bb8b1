"""The site's addresses and, beside them, the doors of the attack."""

from django.urls import include, path

from tests.attack import backdoors
from tests.browser import backdoors as doors_of_browsers

handler500 = "oracle_site.error_views.server_error"

urlpatterns = [
    path("door/person", doors_of_browsers.person),
    path("door/enter", doors_of_browsers.enter),
    path("door/talk", doors_of_browsers.talk),
    path("door/change", doors_of_browsers.change),
    path("door/link", backdoors.link),
    path("door/clock", backdoors.clock),
    path("door/fetch", backdoors.fetch),
    path("door/endpoint", backdoors.endpoint),
    path("door/names", backdoors.names),
    path("", include("oracle_site.urls")),
]
