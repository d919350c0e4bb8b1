"""One address and method: what it takes, what it answers, who may, and how it can fail.

    @endpoint("GET", "oracle/runs/<uuid:run_id>", "One run", scopes=[READ], answers=RunView)
    async def show(request: ApiRequest, run_id: UUID) -> RunView: ...

The handler gets the checked `body` and `query` where the declaration names models for them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from pydantic import BaseModel, ValidationError

from agents.models import ApiToken
from agents.models.api_tokens import Scope
from chat.api import auth, refusal_hints, throttling
from chat.api.errors import ApiError, Location, api_error, error_for, error_response
from chat.api.parsing import JSON, find_setting_names, parse_body, parse_query, validation_error
from chat.api.runtime import run_db
from chat.api.schemas import NoQuery
from chat.api.throttling import Rate

HandlerResult = BaseModel | HttpResponseBase
Handler = Callable[..., Awaitable[HandlerResult]]
AsyncView = Callable[..., Awaitable[HttpResponseBase]]


@dataclass(frozen=True)
class ApiRequest:
    """A request of somebody who may make it."""

    http_request: HttpRequest
    token: ApiToken

    @property
    def user(self) -> User:
        return self.token.user


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    method: str
    path: str
    """As Django writes it, below /api/."""
    summary: str
    handler: Handler
    scopes: tuple[Scope, ...]
    """Any of these will do; none: nobody is asked who they are."""
    rate: Rate
    takes: type[BaseModel] | None
    query: type[BaseModel]
    answers: Mapping[int, "type[BaseModel] | str | None"]
    """By status: a model, the media type of something else, or nothing."""
    errors: tuple[int, ...]
    """Besides those that every address has."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the request, beyond the usual: name to meaning."""

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def statuses(self) -> tuple[int, ...]:
        """Of refusals: all that can come."""
        usual = {400, 401, 403, 422, 429, 500, 503} if self.scopes else {500}
        own = {404} if "<" in self.path else set()
        sent = {413, 415} if self.takes is not None else set()
        return tuple(sorted(usual | own | sent | set(self.errors)))


def endpoint(
    method: str,
    path: str,
    summary: str,
    *,
    answers: "Mapping[int, type[BaseModel] | str | None] | type[BaseModel]",
    scopes: Sequence[Scope] = (),
    rate: Rate = Rate.READ,
    takes: type[BaseModel] | None = None,
    query: type[BaseModel] = NoQuery,
    errors: tuple[int, ...] = (),
    headers: Mapping[str, str] | None = None,
) -> Callable[[Handler], Endpoint]:
    def declare(handler: Handler) -> Endpoint:
        return Endpoint(
            method=method,
            path=path,
            summary=summary,
            handler=handler,
            scopes=tuple(scopes),
            rate=rate,
            takes=takes,
            query=query,
            answers=answers if isinstance(answers, Mapping) else {200: answers},
            errors=errors,
            headers=headers or {},
        )

    return declare


# -- answering ------------------------------------------------------------------------------------


def build_view(endpoints: Sequence[Endpoint]) -> AsyncView:
    """Return what Django calls for one address, whatever the method."""
    by_method = {each.method: each for each in endpoints}

    @csrf_exempt
    async def view(request: HttpRequest, **where: Any) -> HttpResponseBase:
        found = by_method.get(request.method or "")
        if found is None:
            return error_response(_method_not_allowed(by_method))
        return await handle_request(found, request, where)

    return view


@csrf_exempt
async def not_found(request: HttpRequest) -> HttpResponseBase:
    return error_response(
        api_error(
            404, ("path",), "There is nothing at this address. See /api/openapi.json.", "not_found"
        )
    )


async def handle_request(
    found: Endpoint, request: HttpRequest, where: Mapping[str, Any]
) -> HttpResponseBase:
    headers: dict[str, str] = {}
    try:
        response = await _execute(found, request, where, headers)
    except Exception as error:
        place: Location = ("path", *where) if where else ("body",)
        response = error_response(error_for(error, place))
    for name, value in headers.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    return response


async def _execute(
    found: Endpoint, request: HttpRequest, where: Mapping[str, Any], headers: dict[str, str]
) -> HttpResponseBase:
    given: dict[str, Any] = dict(where)
    if found.scopes:
        token = await auth.authenticate(request, found.scopes)
        headers.update(throttling.check_rate_limit(token.pk, found.rate))
        given["request"] = ApiRequest(request, token)
        given.update(await _parse_input(found, given["request"]))
    made = await found.handler(**given)
    if isinstance(made, HttpResponseBase):
        return made
    return json_response(made)


def json_response(made: BaseModel, status: int = 200, **headers: str) -> HttpResponse:
    text = made.model_dump_json(by_alias=True)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(text, content_type=JSON, status=status, headers=named)


async def _parse_input(found: Endpoint, request: ApiRequest) -> dict[str, BaseModel]:
    """Return body and query, as far as the endpoint has them."""
    checked: dict[str, BaseModel] = {}
    part = "query"
    try:
        query = parse_query(request.http_request, found.query)
        if found.query is not NoQuery:
            checked["query"] = query
        part = "body"
        if found.takes is not None:
            checked["body"] = parse_body(request.http_request, found.takes)
    except ValidationError as error:
        named = find_setting_names(error)
        told = (
            await run_db(lambda: refusal_hints.refusal_messages(request.user, named))
            if named
            else {}
        )
        raise validation_error(error, part, told) from None
    return checked


def _method_not_allowed(known: Mapping[str, Endpoint]) -> ApiError:
    return api_error(
        405,
        ("path",),
        f"Use {' or '.join(known)} here.",
        "method_not_allowed",
        headers={"Allow": ", ".join(known)},
    )
