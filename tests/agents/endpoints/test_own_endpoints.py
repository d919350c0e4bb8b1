"""Runs that ask a person's own endpoint, through the real loop, world and sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pytest_django import Settings

from agents.core.chunks import Content, Done, Error, OracleStreamChunk
from agents.core.clock import LoopClock
from agents.endpoints.keys import encrypt_key
from agents.endpoints.model_settings import update_model_settings
from agents.endpoints.selection import get_policy
from agents.llm import EndpointError, build_http_client, build_policy, list_models, parse_base_url
from agents.llm import client as llm_client
from agents.models import AgentRun, ModelSettings
from agents.runtime import RunRequest, Runtime, SiteRunFactory
from agents.settings_service import update_settings
from tests.agents.runtime.fake_factory import asked, followed
from tests.support.endpoint import ScriptedEndpoint
from tests.support.listings import models
from tests.support.script import Script, call, say

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "sk-mine-0123456789-abcd"
SITE_KEY = "sk-of-the-site-5555555555"


@pytest.fixture(autouse=True)
def site(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.ORACLE_LLM_API_KEY = SITE_KEY
    settings.ORACLE_LLM_MODEL, settings.ORACLE_LLM_MODELS = "the-site-s", ()
    settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = "presets", ("127.0.0.1",)


@asynccontextmanager
async def runtime() -> AsyncIterator[Runtime]:
    async with (
        build_http_client() as http,
        build_http_client(permits=get_policy().permits) as own,
        Runtime(SiteRunFactory(http, own)) as made,
    ):
        yield made


async def use(request: RunRequest, **values: Any) -> None:
    await sync_to_async(update_settings)(ModelSettings, request.user, values)


async def ask(request: RunRequest) -> list[OracleStreamChunk]:
    async with runtime() as home:
        row = await home.start(request)
        return await followed(home, row.pk)


def text(chunks: Sequence[OracleStreamChunk]) -> str:
    return "".join(chunk.content for chunk in chunks if isinstance(chunk, Content))


def reason(chunks: Sequence[OracleStreamChunk]) -> str:
    assert isinstance(chunks[-1], Done)
    return chunks[-1].termination_reason


def why(chunks: Sequence[OracleStreamChunk]) -> str:
    return " ".join(chunk.error for chunk in chunks if isinstance(chunk, Error))


def keys(endpoint: ScriptedEndpoint) -> set[str]:
    return {record.headers.get("authorization", "") for record in endpoint.requests}


async def test_a_run_asks_its_user_s_endpoint_with_their_key(settings: Settings) -> None:
    request = await asked()
    async with ScriptedEndpoint(Script()) as site, ScriptedEndpoint([say("Mine.")]) as own:
        settings.ORACLE_LLM_BASE_URL = site.base_url
        kept = encrypt_key(parse_base_url(own.base_url), KEY)
        await use(
            request, provider="own", base_url=own.base_url, sealed_key=kept, oracle_model="mine"
        )
        chunks = await ask(request)
        assert text(chunks) == "Mine."
        assert keys(own) == {f"Bearer {KEY}"}
        assert {record.body["model"] for record in own.requests} == {"mine"}
        assert site.requests == []
    run = await AgentRun.objects.aget()
    assert run.model == "mine"
    assert KEY not in str([row async for row in AgentRun.objects.values()])


async def test_after_another_provider_and_back_it_is_asked_as_before(settings: Settings) -> None:
    settings.ORACLE_LLM_BASE_URL = ""
    request = await asked()
    change = sync_to_async(update_model_settings)
    async with ScriptedEndpoint([say("Mine.")]) as own:
        mine = {"provider": "own", "base_url": own.base_url, "oracle_model": "mine"}
        await change(request.user, {**mine, "api_key": KEY})
        await change(request.user, {"provider": ""})
        await change(request.user, {"provider": "own"})
        chunks = await ask(request)
        assert (text(chunks), reason(chunks)) == ("Mine.", "completed")
        assert keys(own) == {f"Bearer {KEY}"}


async def test_the_librarian_asks_there_too_with_its_own_model(settings: Settings) -> None:
    settings.ORACLE_LLM_BASE_URL = ""
    request = await asked()
    scripts = {
        "large": Script([call("delegate_librarian", task="Sum it up."), say("Done.")]),
        "small": Script([], then=say("A summary.")),
    }
    async with ScriptedEndpoint(scripts) as own:
        await use(
            request,
            provider="vllm",
            base_url=own.base_url,
            oracle_model="large",
            subagent_model="small",
        )
        chunks = await ask(request)
        assert "small" in {record.key for record in own.requests}
        assert keys(own) == {""}
    assert text(chunks) == "A summary.Done."


async def test_without_one_of_their_own_the_site_s_endpoint_is_asked_with_its_key(
    settings: Settings,
) -> None:
    request = await asked()
    async with ScriptedEndpoint([say("The site's.")]) as site:
        settings.ORACLE_LLM_BASE_URL = site.base_url
        settings.ORACLE_INSIDE_ENDPOINTS = ()  # it is trusted wherever it is
        assert text(await ask(request)) == "The site's."
        assert keys(site) == {f"Bearer {SITE_KEY}"}


async def test_the_site_s_key_is_not_sent_to_a_person_s_endpoint(settings: Settings) -> None:
    request = await asked()
    async with ScriptedEndpoint([say("Mine.")]) as own:
        settings.ORACLE_LLM_BASE_URL = own.base_url  # even if both are the same place
        await use(request, provider="own", base_url=own.base_url, oracle_model="m")
        assert text(await ask(request)) == "Mine."
        assert keys(own) == {""}


async def test_without_any_endpoint_the_embedded_model_answers(settings: Settings) -> None:
    settings.ORACLE_LLM_BASE_URL = ""
    request = await asked()
    chunks = await ask(request)
    assert reason(chunks) == "completed"
    assert not (await sync_to_async(ModelSettings.for_user)(request.user)).models


@pytest.mark.parametrize(("own", "inside"), [("no", ("*",)), ("presets", ()), ("yes", ())])
async def test_an_endpoint_that_is_no_longer_allowed_ends_the_run_with_a_sentence(
    settings: Settings, own: str, inside: tuple[str, ...]
) -> None:
    """It is not answered by the site's endpoint instead: that would be somebody else's bill."""
    request = await asked()
    async with ScriptedEndpoint(Script()) as mine, ScriptedEndpoint(Script()) as site:
        settings.ORACLE_LLM_BASE_URL = site.base_url
        await use(request, provider="own", base_url=mine.base_url, oracle_model="m")
        settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = own, inside
        chunks = await ask(request)
        assert reason(chunks) == "provider_error"
        assert "site" in why(chunks) or "administrator" in why(chunks)
        assert mine.requests == site.requests == []


async def test_a_name_that_has_moved_inside_is_not_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ORACLE_OWN_ENDPOINTS, settings.ORACLE_INSIDE_ENDPOINTS = "yes", ()
    settings.ORACLE_LLM_BASE_URL = ""
    request = await asked()

    async def moved(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async with ScriptedEndpoint(Script()) as inside:
        port = parse_base_url(inside.base_url).port
        address = f"http://models.example:{port}/v1"
        await use(request, provider="own", base_url=address, oracle_model="m")
        async with (
            build_http_client() as http,
            build_http_client(permits=get_policy().permits, resolve=moved) as own,
            Runtime(SiteRunFactory(http, own)) as home,
        ):
            row = await home.start(request)
            chunks = await followed(home, row.pk)
        assert reason(chunks) == "provider_error"
        assert "may not use" in why(chunks)
        assert inside.requests == []


async def test_an_endpoint_without_a_model_says_what_to_do(settings: Settings) -> None:
    request = await asked()
    async with ScriptedEndpoint(Script()) as own:
        await use(request, provider="own", base_url=own.base_url)
        chunks = await ask(request)
    assert reason(chunks) == "provider_error"
    assert "Choose one in the settings" in why(chunks)


async def test_what_can_be_chosen_in_the_composer(settings: Settings) -> None:
    request = await asked()
    row: Any = await sync_to_async(ModelSettings.for_user)(request.user)
    settings.ORACLE_LLM_BASE_URL, settings.ORACLE_LLM_MODELS = "https://x.example/v1", ("b", "c")
    assert row.models == ("the-site-s", "b", "c")
    row.oracle_model = "b"
    assert row.models == ("b", "c")
    row.provider, row.subagent_model = "openrouter", "small"
    assert row.models == ("b", "small")
    row.oracle_model = row.subagent_model = ""
    assert row.models == ()
    assert not row.is_embedded


# -- TLS ------------------------------------------------------------------------------------------


def certificate(folder: Path, name: str) -> Path:
    """For one name, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.mark.parametrize(("host", "is_trusted"), [("gpu.internal", True), ("db.internal", False)])
async def test_a_certificate_is_checked_against_the_name_not_the_address(
    host: str, is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = certificate(tmp_path, "gpu.internal")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(path)
    names: list[str | None] = []
    serving.sni_callback = lambda _, name, __: names.append(name)
    trusting = ssl.create_default_context(cafile=str(path))
    monkeypatch.setattr(llm_client, "_load_ssl_context", lambda: trusting)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = models("a").body
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        writer.write(head.encode() + b"\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    async def loopback(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    permits = build_policy("yes", ("*",)).permits
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving)
    async with server, build_http_client(permits=permits, resolve=loopback) as client:
        base_url = f"https://{host}:{server.sockets[0].getsockname()[1]}/v1"
        with nullcontext() if is_trusted else pytest.raises(EndpointError):
            found = await list_models(client, base_url, "", LoopClock())
            assert [one.name for one in found.models] == ["a"]
    assert names == [host]
