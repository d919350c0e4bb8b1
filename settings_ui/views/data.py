"""The page from which people download their data."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.web.requests import sign_in_required


@never_cache
@sign_in_required()
@require_GET
def data(request: HttpRequest) -> HttpResponse:
    return render(request, "settings/data.html", {"section": "data"})
