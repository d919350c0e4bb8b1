"""The site as a server and a browser see it."""

import json
import re
import signal
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.test import AsyncClient, Client
from django.urls import path

from oracle_site.asgi import application
from oracle_site.middleware import CONTENT_SECURITY_POLICY
from oracle_site.urls import urlpatterns as site_urls
from tests.support.pages import Page, problems
from tests.support.server import Server, manage, prepare, serving

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "When did the work begin, and who leads it?"


def fail(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


def refuse(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied


urlpatterns = [*site_urls, path("fail", fail), path("refuse", refuse)]
"""The site's addresses and two that go wrong, for tests with `pytest.mark.urls`."""


def test_there_is_an_asgi_application() -> None:
    assert callable(application)


async def test_a_probe_is_answered_over_plain_http() -> None:
    response = await AsyncClient().get("/healthz")
    assert response.status_code == 200


async def test_a_page_that_is_not_there_is_sent_to_https_first() -> None:
    response = await AsyncClient().get("/nothing")
    assert response.status_code == 301
    assert response["location"].startswith("https://")


# -- headers --------------------------------------------------------------------------------------


def check_headers(headers: Any) -> None:
    assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] in {"same-origin", "no-referrer"}
    allowed = [each for each in headers["Permissions-Policy"].split(", ") if "=()" not in each]
    assert allowed == []


def test_the_policy_is_the_strict_one() -> None:
    assert CONTENT_SECURITY_POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


ANSWERS = [
    ("/sign-in/", 200),
    ("/static/css/app.css", 200),
    ("/static/icons.svg", 200),
    ("/", 302),
    ("/refuse", 403),
    ("/nothing", 404),
    ("/static/nothing.css", 404),
    ("/sign-out/", 405),
    ("/sign-in/x/y/", 410),
    ("/fail", 500),
]


@pytest.mark.django_db
@pytest.mark.urls("tests.oracle_site.test_site")
@pytest.mark.parametrize(("address", "status"), ANSWERS)
def test_every_answer_carries_the_policy(address: str, status: int) -> None:
    response = Client(raise_request_exception=False).get(address, secure=True)
    assert response.status_code == status
    check_headers(response.headers)
    response.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.urls("tests.oracle_site.test_site")
@pytest.mark.parametrize(("address", "status"), ANSWERS)
async def test_every_answer_carries_the_policy_under_asgi(address: str, status: int) -> None:
    client = AsyncClient(raise_request_exception=False)
    response = await client.get(address, secure=True)
    assert response.status_code == status
    check_headers(response.headers)
    response.close()


def test_a_host_that_is_not_ours_is_refused_with_the_policy(client: Client) -> None:
    response = client.get("/", secure=True, headers={"host": "evil.example"})
    assert response.status_code == 400
    check_headers(response.headers)


# -- pages ----------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.urls("tests.oracle_site.test_site")
@pytest.mark.parametrize("address", ["/refuse", "/nothing", "/fail"])
def test_an_error_page_is_sound_and_says_what_to_do(address: str) -> None:
    response = Client(raise_request_exception=False).get(address, secure=True)
    html = response.content.decode()
    assert problems(html) == []
    page = Page(html)
    assert page.all("a")[0] == {"class": "skip", "href": "#main"}
    assert {"class": "button primary", "href": "/"} in page.all("a")


@pytest.mark.parametrize("name", ["400.html", "500.html"])
def test_an_error_page_needs_neither_request_nor_database(name: str) -> None:
    assert problems(render_to_string(name)) == []


def test_the_theme_is_the_persons_own() -> None:
    assert "data-theme" not in Page(render_to_string("404.html")).all("html")[0]
    dark = Page(render_to_string("404.html", {"theme": "dark"}))
    assert dark.all("html") == [{"lang": "en", "data-theme": "dark"}]


def test_htmx_is_the_second_and_evaluates_nothing() -> None:
    page = Page(render_to_string("_htmx.html"))
    scripts = [at["src"] for at in page.all("script")]
    assert scripts == [
        "/static/django_htmx/htmx-2.min.js",
        "/static/django_htmx/ext/hx-ws-2.min.js",
    ]
    (meta,) = page.all("meta")
    config = json.loads(unescape(meta["content"]))
    assert meta["name"] == "htmx-config"
    assert not config["allowEval"]
    assert not config["allowScriptTags"]
    assert not config["includeIndicatorStyles"]
    assert config["selfRequestsOnly"]
    assert config["historyCacheSize"] == 0
    handled = {each["code"]: each for each in config["responseHandling"]}
    assert handled["422"]["swap"]


def test_every_icon_that_a_template_names_is_in_the_sprite() -> None:
    drawn = {at["id"] for at in Page((ROOT / "static/icons.svg").read_text()).all("symbol")}
    templates = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    named = {
        part.partition('"')[0]
        for template in templates
        for part in template.split("icons.svg' %}#")[1:]
    }
    assert {name for name in named if "{" not in name} <= drawn
    assert len(drawn) > 20


def test_the_style_sheet_is_small_and_in_layers() -> None:
    tokens, sheet = ((ROOT / "static/css" / name).read_text() for name in ("tokens.css", "app.css"))
    assert len((tokens + sheet).encode()) < 30 * 1024
    assert "@layer reset, base, layout, components, prose, utilities;" in tokens
    assert "url(" not in sheet
    assert "@import" not in sheet


def test_colours_are_named_in_one_sheet_only() -> None:
    sheets = {path.name: path.read_text() for path in (ROOT / "static/css").glob("*.css")}
    tokens = sheets.pop("tokens.css")
    names = set(re.findall(r"(--[\w-]+): light-dark\(", tokens))
    assert names >= {"--bg", "--ink", "--accent", "--amber-bg", "--danger"}
    for name, sheet in sheets.items():
        assert not names & set(re.findall(r"(--[\w-]+):", sheet)), name


# -- the real server ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh site where one question was asked in the terminal."""
    folder = tmp_path_factory.mktemp("site")
    prepare(folder)
    manage(folder, "ask", QUESTION)
    return folder


@pytest.fixture
def server(site: Path) -> Iterator[Server]:
    with serving(site) as running:
        yield running


@pytest.mark.ci
def test_a_strangers_way_in_from_the_printed_link_to_the_end(server: Server) -> None:
    assert server.link.startswith(f"{server.address}/sign-in/")
    with httpx.Client(base_url=server.address, follow_redirects=True, trust_env=False) as browser:
        assert browser.get("/readyz").status_code == 200
        start = browser.get(server.link)
        assert start.status_code == 200
        assert re.fullmatch(r"/c/[0-9a-f-]{36}/", start.url.path)  # what was asked in the terminal
        assert QUESTION in Page(start.text).text()
        assert "badge completed" in start.text
        check_headers(start.headers)

        sheets = [at["href"] for at in Page(start.text).all("link") if at["rel"] == "stylesheet"]
        names = dict.fromkeys(Path(sheet).name.split(".")[0] for sheet in sheets)
        assert list(names) == ["tokens", "app", "cards"]  # the last comes with the cards of tools
        for sheet in sheets:
            style = browser.get(sheet)
            assert style.status_code == 200
            assert style.headers["content-type"].startswith("text/css")
            assert "immutable" in style.headers["cache-control"]
            assert int(style.headers["cache-control"].split("max-age=")[1].split(",")[0]) > 10**7
            check_headers(style.headers)

        assert browser.get(server.link).status_code == 410
    assert httpx.get(f"{server.address}/", trust_env=False).status_code == 302
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


@pytest.mark.ci
def test_the_server_ends_in_peace_also_by_ctrl_c(server: Server) -> None:
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(30) == 0
