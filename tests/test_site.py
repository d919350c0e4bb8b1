"""The site as a server sees it."""

from django.test import AsyncClient

from oracle_site.asgi import application


def test_there_is_an_asgi_application() -> None:
    assert callable(application)


async def test_a_probe_is_answered_over_plain_http() -> None:
    response = await AsyncClient().get("/healthz")
    assert response.status_code == 200


async def test_a_page_that_is_not_there_is_sent_to_https_first() -> None:
    response = await AsyncClient().get("/nothing")
    assert response.status_code == 301
    assert response["location"].startswith("https://")
