"""The site's addresses and, beside them, a door that makes tokens. For tests only."""

import json

from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from agents.models import ApiToken
from agents.models.api_tokens import Scope
from tests.browser.urls import urlpatterns as site


@csrf_exempt
def token(request: HttpRequest) -> JsonResponse:
    """{name, scopes?}: a token of somebody."""
    asked = json.loads(request.body)
    user = User.objects.get(username=asked["name"])
    _, text = ApiToken.issue(user, "a test", asked.get("scopes", Scope.values))
    return JsonResponse({"token": text})


urlpatterns = [path("door/token", token), *site]
