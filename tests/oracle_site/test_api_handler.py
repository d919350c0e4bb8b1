"""How requests of programs reach their views: without sessions, without a thread, with headers."""

import threading

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from agents.runtime import current as home_module
from chat.api import auth
from oracle_site.asgi import application
from oracle_site.middleware import CONTENT_SECURITY_POLICY
from tests.oracle_site.test_site import check_headers

# The threads of a request may have a connection of an earlier one, which Django looks after.
pytestmark = pytest.mark.django_db(transaction=True)


def client(scheme: str = "https") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=application)  # type: ignore[arg-type]  # an ASGI app
    return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://127.0.0.1")


@pytest.mark.parametrize("path", ["openapi.json", "projects", "nothing", ""])
async def test_every_answer_of_the_api_carries_the_policy(path: str) -> None:
    async with client() as http:
        response = await http.get(f"/api/{path}")
    check_headers(response.headers)
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert response.headers["strict-transport-security"]
    assert "set-cookie" not in response.headers


async def test_pages_are_served_as_before() -> None:
    async with client() as http:
        page, probe = await http.get("/sign-in/"), await http.get("/healthz")
    assert (page.status_code, probe.status_code) == (200, 200)
    assert "csrftoken" in page.headers["set-cookie"]
    check_headers(page.headers)


async def test_a_view_of_the_api_runs_on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[threading.Thread] = []

    def note(*_: object) -> None:
        seen.append(threading.current_thread())
        raise ZeroDivisionError

    monkeypatch.setattr(auth, "_refuse_plain_http", note)
    async with client() as http:
        await http.get("/api/projects")
    assert seen == [threading.current_thread()]


async def test_a_fault_of_ours_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(auth, "_refuse_plain_http", broken)
    async with client() as http:
        response = await http.get("/api/projects")
    assert response.status_code == 500
    assert [each["type"] for each in response.json()["detail"]] == ["server_error"]
    assert "secret" not in response.text
    assert "ZeroDivisionError" in caplog.text


async def test_a_process_that_is_no_home_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_module, "_runtimes", [])
    async with client() as http:
        response = await http.get("/api/projects", headers={"Authorization": "Bearer oracle_x"})
    assert response.status_code == 503
    assert response.headers["retry-after"]


async def test_the_api_also_answers_behind_the_middleware_of_the_pages() -> None:
    """As Django's own test client asks for it."""
    get = sync_to_async(Client().get)
    assert (await get("/api/projects", secure=True)).status_code == 401
    assert (await get("/api/nothing", secure=True)).json()["detail"][0]["type"] == "not_found"
