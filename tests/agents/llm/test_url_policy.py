"""Which base URLs people may use: every way to write an address that is inside is refused."""

import asyncio
from collections.abc import Sequence

import pytest

from agents.core.clock import LoopClock
from agents.core.messages import ModelRequest
from agents.llm.client import OpenAIChatModel, build_http_client
from agents.llm.endpoint import EndpointClient
from agents.llm.errors import EndpointError, Redirected, WrongAddress
from agents.llm.providers import PROVIDERS, allowed_providers, build_policy, resolve_base_url
from agents.llm.transport.backend import AddressRefused
from agents.llm.url_policy import (
    EndpointNotAllowed,
    EndpointPolicy,
    is_private_address,
    parse_base_url,
)
from tests.support.endpoint import ScriptedEndpoint
from tests.support.script import Fault, Script, say

ANY = build_policy("yes", ())
REQUEST = ModelRequest(({"role": "user", "content": "?"},), (), "auto", 1, 1e9)

INSIDE = [
    # loopback
    "http://127.0.0.1/v1",
    "http://127.0.0.1:11434/v1",
    "https://127.0.0.1/v1",
    "http://127.1.2.3/v1",
    "http://127.255.255.255/v1",
    "http://localhost/v1",
    "http://LOCALHOST:8000/v1",
    "http://localhost./v1",
    "http://models.localhost/v1",
    "http://localhost.localdomain/v1",
    "http://[::1]/v1",
    "http://[::1]:11434/v1",
    "http://[0:0:0:0:0:0:0:1]/v1",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]/v1",
    # odd spellings of IPv4
    "http://2130706433/v1",
    "http://0x7f000001/v1",
    "http://0x7f.1/v1",
    "http://0x7f.0.0.1/v1",
    "http://0177.0.0.1/v1",
    "http://017700000001/v1",
    "http://127.1/v1",
    "http://127.0.1/v1",
    "http://127.0.0.01/v1",
    "http://127.0.0.1./v1",
    "http://0/v1",
    "http://0x0/v1",
    "http://0x/v1",
    "http://127.0.0.0x1/v1",
    "http://127.0.0.256/v1",
    "http://1.2.3.4.5/v1",
    "http://\uff11\uff12\uff17.0.0.1/v1",
    "http://127\u30020\u30020\u30021/v1",
    "http://\u24db\u24de\u24d2alhost/v1",
    "http://127.0.0.\u0661/v1",
    "http://%31%32%37.0.0.1/v1",
    "http://127.0.0%2e1/v1",
    "http://%6cocalhost/v1",
    # private, shared, link-local, reserved
    "http://0.0.0.0/v1",
    "http://0.1.2.3/v1",
    "http://10.0.0.1/v1",
    "http://10.255.255.255/v1",
    "http://100.64.0.1/v1",
    "http://100.127.255.254/v1",
    "http://169.254.169.254/latest/meta-data",
    "http://172.16.0.1/v1",
    "http://172.31.255.255/v1",
    "http://192.0.0.1/v1",
    "http://192.0.2.1/v1",
    "http://192.88.99.1/v1",
    "http://192.168.1.1/v1",
    "http://198.18.0.1/v1",
    "http://198.51.100.7/v1",
    "http://203.0.113.7/v1",
    "http://224.0.0.1/v1",
    "http://239.255.255.250/v1",
    "http://240.0.0.1/v1",
    "http://255.255.255.255/v1",
    # IPv6
    "http://[::]/v1",
    "http://[::ffff:127.0.0.1]/v1",
    "http://[::ffff:7f00:1]/v1",
    "http://[::ffff:8.8.8.8]/v1",
    "http://[::127.0.0.1]/v1",
    "http://[::7f00:1]/v1",
    "http://[::ffff:0:127.0.0.1]/v1",
    "http://[64:ff9b::7f00:1]/v1",
    "http://[64:ff9b::127.0.0.1]/v1",
    "http://[64:ff9b:1::1]/v1",
    "http://[2002:7f00:1::]/v1",
    "http://[2002:a00:1::1]/v1",
    "http://[2001::1]/v1",
    "http://[2001:0:7f00:1::]/v1",
    "http://[2001:db8::1]/v1",
    "http://[3fff::1]/v1",
    "http://[100::1]/v1",
    "http://[fc00::1]/v1",
    "http://[fd12:3456::1]/v1",
    "http://[fe80::1]/v1",
    "http://[fe80::1%25eth0]/v1",
    "http://[fe80::1%eth0]/v1",
    "http://[::1%25lo]/v1",
    "http://[fec0::1]/v1",
    "http://[ff02::1]/v1",
    "http://[4000::1]/v1",
    # names of this network
    "http://gpu/v1",
    "http://router.lan/v1",
    "http://printer.local/v1",
    "http://metadata.google.internal/v1",
    "http://db.corp/v1",
    "http://nas.home.arpa/v1",
    "http://1.0.0.127.in-addr.arpa/v1",
]
ODD = [
    "",
    " ",
    "v1",
    "//models.example/v1",
    "http:/models.example/v1",
    "http:models.example",
    "http://",
    "http:///v1",
    "http://:8000/v1",
    "ftp://models.example/v1",
    "file:///etc/passwd",
    "gopher://models.example:70/_",
    "unix:///run/model.sock",
    "javascript:alert(1)",
    "data:text/plain,x",
    "ws://models.example/v1",
    "http+unix://models.example/v1",
    "http://ada:secret@models.example/v1",
    "http://models.example@127.0.0.1/v1",
    "http://127.0.0.1@models.example/v1",
    "http://models.example:80@127.0.0.1/v1",
    "http://models.example#@127.0.0.1/v1",
    "http://models.example?@127.0.0.1/v1",
    "http://models.example\\@127.0.0.1/v1",
    "http://models.example\\.127.0.0.1/v1",
    "http:\\\\127.0.0.1\\v1",
    "http://models.example /v1",
    "http://models.example\t/v1",
    "http://models.example\r\nHost: 127.0.0.1/v1",
    "http://models.example\x00.evil/v1",
    "http://models.example:0/v1",
    "http://models.example:65536/v1",
    "http://models.example:-1/v1",
    "http://models.example:8o/v1",
    "http://models.example:80:80/v1",
    "http://models.example:/v1 ",
    "http://models..example/v1",
    "http://.models.example/v1",
    "http://models.example./v1",
    "http://-models.example/v1",
    "http://mod els.example/v1",
    "http://[::1/v1",
    "http://::1/v1",
    "http://[127.0.0.1]/v1",
    "http://[::1]]/v1",
    "http://[::1]x/v1",
    "http://[g::1]/v1",
    "http://models.example/v1?key=1",
    "http://models.example/v1#x",
    "http://m\u00fcller.example/v1",
    "http://" + "a" * 64 + ".example/v1",
    "http://" + "a." * 130 + "example/v1",
    "http://models.example/" + "v" * 500,
]
PUBLIC = [
    "https://openrouter.ai/api/v1",
    "https://api.openai.com/v1",
    "https://models.example/v1",
    "https://models.example:8443/v1",
    "https://models.example",
    "http://models.example/",
    "HTTPS://Models.Example/v1",
    "https://xn--mller-kva.example/v1",
    "https://my_host.example/v1",
    "https://127.example/v1",
    "https://8.8.8.8/v1",
    "https://100.63.255.255/v1",
    "https://172.32.0.1/v1",
    "https://[2606:4700:4700::1111]/v1",
    "https://[2a00:1450:4001:82a::200e]:8443/v1",
    "https://notlocalhost.example/v1",
]


def test_there_are_enough_spellings() -> None:
    assert len(set(INSIDE)) >= 60
    assert len(set(PUBLIC)) >= 12


def refusal(policy: EndpointPolicy, base_url: str) -> str:
    """What is said to an address that is refused."""
    try:
        policy.check(base_url)
    except EndpointNotAllowed as refused:
        return str(refused)
    return ""


def is_sentence(text: str) -> bool:
    return len(text) > 20 and (text[0].isupper() or "." in text)


@pytest.mark.parametrize("own", ["yes", "presets", "no"])
def test_what_is_inside_or_odd_is_refused_with_a_sentence(own: str) -> None:
    policy = build_policy(own, ())
    assert [url for url in [*INSIDE, *ODD] if not is_sentence(refusal(policy, url))] == []


def test_what_is_odd_is_refused_whatever_is_allowed() -> None:
    policy = build_policy("yes", ("*",))
    assert [url for url in ODD if not refusal(policy, url)] == []


@pytest.mark.parametrize("base_url", PUBLIC)
def test_what_is_public_is_accepted_where_any_endpoint_may_be_used(base_url: str) -> None:
    place = ANY.check(base_url)
    assert place.origin.startswith(("http://", "https://"))


@pytest.mark.parametrize(
    ("base_url", "accepted"),
    [
        ("https://openrouter.ai/api/v1", True),
        ("https://api.openai.com/v1", True),
        ("https://api.openai.com:8443/v1", False),
        ("https://models.example/v1", False),
        ("https://8.8.8.8/v1", False),
        ("https://openrouter.ai.evil.example/v1", False),
    ],
)
def test_by_default_only_the_known_providers_may_be_used(base_url: str, accepted: bool) -> None:
    policy = build_policy("presets", ())
    if accepted:
        policy.check(base_url)
        return
    with pytest.raises(EndpointNotAllowed, match="ORACLE_OWN_ENDPOINTS"):
        policy.check(base_url)


@pytest.mark.parametrize("own", ["presets", "yes"])
@pytest.mark.parametrize(
    ("listed", "base_url", "accepted"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1", True),
        ("127.0.0.1:11434", "http://127.0.0.1:11434/v1", True),
        ("127.0.0.1:11434", "http://127.0.0.1:8000/v1", False),
        ("127.0.0.1:80", "http://127.0.0.1/v1", True),
        ("localhost", "http://localhost:11434/v1", True),
        ("LocalHost", "http://LOCALHOST:11434/v1", True),
        ("localhost", "http://127.0.0.1:11434/v1", False),
        ("gpu.internal:8000", "http://gpu.internal:8000/v1", True),
        ("gpu.internal:8000", "http://db.internal:8000/v1", False),
        ("internal", "http://gpu.internal/v1", False),
        ("::1", "http://[::1]:8000/v1", True),
        ("[::1]", "http://[0:0:0:0:0:0:0:1]:8000/v1", True),
        ("[::1]:8000", "http://[::1]:8000/v1", True),
        ("[::1]:8000", "http://[::1]:8001/v1", False),
        ("*", "http://10.1.2.3:8000/v1", True),
        ("*", "http://gpu/v1", True),
    ],
)
def test_an_administrator_can_allow_what_is_inside(
    own: str, listed: str, base_url: str, accepted: bool
) -> None:
    policy = build_policy(own, (listed,))
    if accepted:
        policy.check(base_url)
        return
    with pytest.raises(EndpointNotAllowed, match="ORACLE_INSIDE_ENDPOINTS"):
        policy.check(base_url)


def test_nothing_is_accepted_where_everybody_uses_the_site_s_endpoint() -> None:
    policy = build_policy("no", ("*", "localhost", "127.0.0.1"))
    assert [url for url in [*PUBLIC, *INSIDE] if not refusal(policy, url)] == []


@pytest.mark.parametrize("address", ["", "nonsense", "fe80::1%eth0", "127.0.0.1", "::"])
def test_an_address_that_cannot_be_read_is_inside(address: str) -> None:
    assert is_private_address(address)


def test_a_name_that_resolves_to_something_inside_is_refused() -> None:
    place = ANY.check("https://models.example/v1")
    with pytest.raises(EndpointNotAllowed, match="inside"):
        ANY.check_addresses(place, ["10.0.0.7", "::1"])
    ANY.check_addresses(place, ["8.8.8.8"])
    ANY.check_addresses(place, [])


def test_with_all_of_the_inside_allowed_a_public_name_is_still_refused_by_its_addresses() -> None:
    policy = build_policy("presets", ("*",))
    place = policy.check("https://models.example/v1")
    with pytest.raises(EndpointNotAllowed, match="ORACLE_OWN_ENDPOINTS"):
        policy.check_addresses(place, ["8.8.8.8"])
    policy.check_addresses(place, ["10.0.0.7"])


def test_which_providers_can_be_chosen() -> None:
    names = {
        own: [p.name for p in allowed_providers(build_policy(own, ()))] for own in ("no", "yes")
    }
    assert names == {"no": [], "yes": list(PROVIDERS)}
    assert [p.name for p in allowed_providers(build_policy("presets", ()))] == [
        "openrouter",
        "openai",
    ]
    inside = allowed_providers(build_policy("presets", ("127.0.0.1:11434",)))
    assert [p.name for p in inside] == list(PROVIDERS)


def test_a_public_provider_is_where_it_is_whatever_address_is_stored() -> None:
    assert resolve_base_url("openai", "https://evil.example/v1") == "https://api.openai.com/v1"
    assert resolve_base_url("ollama", "") == "http://127.0.0.1:11434/v1"
    assert resolve_base_url("ollama", "http://gpu:1/v1") == "http://gpu:1/v1"
    with pytest.raises(EndpointNotAllowed, match="Choose another"):
        resolve_base_url("gone", "")


@pytest.mark.parametrize("provider", [p for p in PROVIDERS.values() if p.base_url])
def test_every_preset_is_written_in_the_one_way(provider: object) -> None:
    assert parse_base_url(provider.base_url).host  # type: ignore[attr-defined]


# -- at the last moment ---------------------------------------------------------------------------


class Rebinding:
    """A name server that changes its mind."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def ask(
    base_url: str, policy: EndpointPolicy, names: Rebinding, key: str = "sk-mine-0123456789abcd"
) -> str:
    """What one request comes to: the text, or the error."""
    async with build_http_client(permits=policy.permits, resolve=names.resolve) as client:
        model = OpenAIChatModel(client, base_url, "m", key, clock=LoopClock(), sleep=_at_once)
        return "".join([getattr(event, "text", "") async for event in model.stream(REQUEST)])


async def _at_once(seconds: float) -> None:
    await asyncio.sleep(0)


async def test_a_name_that_is_public_when_saved_and_inside_when_asked_is_not_connected_to() -> None:
    async with ScriptedEndpoint(Script([], then=say("You got in."))) as endpoint:
        port = parse_base_url(endpoint.base_url).port
        base_url = f"http://models.example:{port}/v1"
        names = Rebinding(["8.8.8.8"], ["127.0.0.1"])
        place = ANY.check(base_url)
        ANY.check_addresses(place, await names.resolve(place.host, place.port))
        with pytest.raises(WrongAddress, match="may not use"):
            await ask(base_url, ANY, names)
        assert endpoint.requests == []
        assert not endpoint.connections


@pytest.mark.parametrize(
    "inside", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "fe80::1%lo"]
)
async def test_no_address_that_is_inside_is_connected_to(inside: str) -> None:
    with pytest.raises(WrongAddress):
        await ask("http://models.example/v1", ANY, Rebinding([inside]))


async def test_only_the_address_that_was_checked_is_connected_to() -> None:
    """The name is resolved once: what it would be a moment later does not matter."""
    async with ScriptedEndpoint(Script([say("Hello.")])) as endpoint:
        port = parse_base_url(endpoint.base_url).port
        policy = build_policy("yes", (f"gpu.internal:{port}",))
        names = Rebinding(["127.0.0.1"], ["10.255.255.1"])
        assert await ask(f"http://gpu.internal:{port}/v1", policy, names) == "Hello."
        assert names.asked == ["gpu.internal"]
        assert endpoint.requests[0].headers["host"] == f"gpu.internal:{port}"


async def test_of_several_addresses_those_that_are_inside_are_left_out() -> None:
    async with ScriptedEndpoint(Script([], then=say("You got in."))) as endpoint:
        port = parse_base_url(endpoint.base_url).port
        names = Rebinding(["127.0.0.1", "240.0.0.1"])
        with pytest.raises(EndpointError):
            await ask(f"http://models.example:{port}/v1", ANY, names)
        assert endpoint.requests == []


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with ScriptedEndpoint(Script([say("Hello.")])) as endpoint:
        port = parse_base_url(endpoint.base_url).port
        policy = build_policy("yes", ("gpu.internal",))
        names = Rebinding(["127.0.0.2", "127.0.0.1"])
        assert await ask(f"http://gpu.internal:{port}/v1", policy, names) == "Hello."


async def test_a_name_that_does_not_exist_is_said_to_be_unreachable() -> None:
    class Nowhere(Rebinding):
        async def resolve(self, host: str, port: int) -> Sequence[str]:
            raise OSError("no such name")

    with pytest.raises(EndpointError, match=r"Cannot connect to models\.example"):
        await ask("http://models.example/v1", ANY, Nowhere([]))


async def test_a_redirect_to_something_inside_is_not_followed() -> None:
    async with ScriptedEndpoint(Script([Fault("redirect")])) as endpoint:
        policy = build_policy("yes", ("127.0.0.1",))
        with pytest.raises(Redirected):
            await ask(endpoint.base_url, policy, Rebinding(["127.0.0.1"]))


async def test_a_proxy_of_the_environment_is_not_used_for_people_s_endpoints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would connect to what cannot be checked here."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with build_http_client(permits=ANY.permits) as client:
        with pytest.raises(WrongAddress):
            async with EndpointClient(client, "http://127.0.0.1:9/v1", "", LoopClock()).get_models(
                1
            ):
                pass


def test_the_reason_of_a_refused_connection_does_not_name_the_address() -> None:
    assert str(AddressRefused("models.example")) == "models.example"
