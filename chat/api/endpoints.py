"""One address and method: what it takes, what it answers, who may, and how it can fail.

    @endpoint("GET", "oracle/runs/<uuid:run_id>", "One run", scopes=[READ], answers=RunView)
    async def show(call: Call, run_id: UUID) -> RunView: ...

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

from agents.models import ApiToken, UserAgentConfig
from agents.models.tokens import Scope
from chat.api import auth, limits
from chat.api.errors import Place, Refused, refusal_of, refused, response_of
from chat.api.here import work
from chat.api.limits import Rate
from chat.api.reading import JSON, body_of, invalid, names_limits, query_of
from chat.api.schemas import NoQuery

Answer = BaseModel | HttpResponseBase
Handler = Callable[..., Awaitable[Answer]]
AsyncView = Callable[..., Awaitable[HttpResponseBase]]


@dataclass(frozen=True)
class Call:
    """A request of somebody who may make it."""

    request: HttpRequest
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


def view_of(endpoints: Sequence[Endpoint]) -> AsyncView:
    """What Django calls for one address, whatever the method."""
    by_method = {each.method: each for each in endpoints}

    @csrf_exempt
    async def view(request: HttpRequest, **where: Any) -> HttpResponseBase:
        found = by_method.get(request.method or "")
        if found is None:
            return response_of(_not_allowed(by_method))
        return await answer(found, request, where)

    return view


@csrf_exempt
async def nothing_here(request: HttpRequest) -> HttpResponseBase:
    return response_of(
        refused(404, ("path",), "There is no such address. See /api/openapi.json.", "not_found")
    )


async def answer(
    found: Endpoint, request: HttpRequest, where: Mapping[str, Any]
) -> HttpResponseBase:
    headers: dict[str, str] = {}
    try:
        response = await _do(found, request, where, headers)
    except Exception as error:
        place: Place = ("path", *where) if where else ("body",)
        response = response_of(refusal_of(error, place))
    for name, value in headers.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("Cache-Control", "no-store")
    return response


async def _do(
    found: Endpoint, request: HttpRequest, where: Mapping[str, Any], headers: dict[str, str]
) -> HttpResponseBase:
    given: dict[str, Any] = dict(where)
    if found.scopes:
        token = await auth.token_of(request, found.scopes)
        headers.update(limits.take(token.pk, found.rate))
        given["call"] = Call(request, token)
        given.update(await _checked(found, given["call"]))
    made = await found.handler(**given)
    if isinstance(made, HttpResponseBase):
        return made
    return json_response(made)


def json_response(made: BaseModel, status: int = 200, **headers: str) -> HttpResponse:
    text = made.model_dump_json(by_alias=True)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(text, content_type=JSON, status=status, headers=named)


async def _checked(found: Endpoint, call: Call) -> dict[str, BaseModel]:
    """Body and query, as far as the endpoint has them."""
    checked: dict[str, BaseModel] = {}
    part = "query"
    try:
        query = query_of(call.request, found.query)
        if found.query is not NoQuery:
            checked["query"] = query
        part = "body"
        if found.takes is not None:
            checked["body"] = body_of(call.request, found.takes)
    except ValidationError as error:
        in_force = (
            await work(lambda: UserAgentConfig.of(call.user)) if names_limits(error) else None
        )
        raise invalid(error, part, in_force.to_config() if in_force else None) from None
    return checked


def _not_allowed(known: Mapping[str, Endpoint]) -> Refused:
    return refused(
        405,
        ("path",),
        f"Use {' or '.join(known)} here.",
        "method_not_allowed",
        headers={"Allow": ", ".join(known)},
    )
