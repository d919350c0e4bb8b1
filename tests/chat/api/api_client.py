"""Programs in this process: requests go through the application that the server loads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.models import AgentRun, ApiToken, SettingChange, UserAgentConfig
from agents.models.api_tokens import Scope
from chat.models import Conversation
from oracle_site.asgi import application
from tests.chat.page_client import Chat

CONFIG = "settings/agent-config"


@dataclass(frozen=True)
class Caller:
    chat: Chat
    user: User
    row: ApiToken
    token: str
    http: httpx.AsyncClient

    @classmethod
    @asynccontextmanager
    async def of(cls, chat: Chat, user: User, *scopes: str) -> "AsyncIterator[Caller]":
        wanted = list(scopes or Scope.values)
        row, text = await sync_to_async(ApiToken.issue)(user, "a test", wanted)
        transport = httpx.ASGITransport(app=application)  # type: ignore[arg-type]  # an ASGI app
        async with httpx.AsyncClient(
            transport=transport, base_url="https://127.0.0.1/api/"
        ) as http:
            yield cls(chat, user, row, text, http)

    async def as_scopes(self, *scopes: str) -> "Caller":
        """The same person with a token that may do less."""
        row, text = await sync_to_async(ApiToken.issue)(self.user, "less", list(scopes))
        return replace(self, row=row, token=text)

    async def as_user(self, user: User) -> "Caller":
        row, text = await sync_to_async(ApiToken.issue)(user, "theirs", Scope.values)
        return replace(self, user=user, row=row, token=text)

    async def __call__(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)

    async def raw(self, method: str, path: str, body: bytes) -> httpx.Response:
        """A body as it is, said to be JSON."""
        json = {"Content-Type": "application/json"}
        return await self(method, path, content=body, headers=json)

    @sync_to_async
    def stored(self) -> list[Any]:
        """Everything of this person's that a request could have changed."""
        UserAgentConfig.for_user(self.user)
        own = UserAgentConfig.objects.filter(user=self.user).values()
        return [
            list(own),
            list(SettingChange.objects.filter(user=self.user).values()),
            list(AgentRun.objects.filter(user=self.user).values("id", "question")),
            list(Conversation.all_objects.filter(user=self.user).values()),
        ]


def refusal(response: httpx.Response, status: int) -> list[dict[str, Any]]:
    """The problems of a refusal, which has the one shape that all have."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"detail"}
    for problem in body["detail"]:
        assert set(problem) - {"ctx"} == {"loc", "msg", "type"}
        assert problem["msg"]
        assert "Traceback" not in problem["msg"]
    return list(body["detail"])
