"""Which hosts can be allowed, and which addresses of pages are theirs."""

import pytest

from agents.llm import build_policy
from agents.tools.web_hosts import MAX_URL_LENGTH, WebHosts, WebNotAllowed

HOSTS = WebHosts.parse("docs.example.org\n*.wiki.example")


def test_a_list_has_one_host_on_each_line() -> None:
    hosts = WebHosts.parse("  Docs.Example.org \r\n\n*.wiki.example\ndocs.example.org\n")
    assert hosts.names == {"docs.example.org", "*.wiki.example"}
    assert hosts
    assert not WebHosts.parse(" \n\n")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("https://docs.example.org", "not a host name"),
        ("docs.example.org/guide", "not a host name"),
        ("docs.example.org:443", "not a host name"),
        ("docs.example.org.", "not a host name"),
        ("ada@docs.example.org", "not a host name"),
        ("a b.example.org", "not a host name"),
        ("a.example.org, b.example.org", "not a host name"),
        ("münchen.example", "not a host name"),
        ("*", "not a host name"),
        ("*.*.example.org", "not a host name"),
        ("docs.*.org", "not a host name"),
        ("*.org", "everybody's hosts"),
        ("10.0.0.1", "an IP address"),
        ("8.8.8.8", "an IP address"),
        ("*.10.0.0.1", "an IP address"),
        ("[::1]", "not a host name"),
        ("2130706433", "not a host name"),
        ("0x7f.1", "not a host name"),
        ("localhost", "inside a network"),
        ("wiki", "inside a network"),
        ("wiki.internal", "inside a network"),
        ("*.home.arpa", "inside a network"),
    ],
)
def test_a_line_that_is_no_host_of_the_internet_is_refused_with_the_reason(
    line: str, why: str
) -> None:
    with pytest.raises(WebNotAllowed, match=why) as refused:
        WebHosts.parse(f"docs.example.org\n{line}")
    assert repr(line) in str(refused.value)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://docs.example.org", "https://docs.example.org/"),
        (" HTTPS://DOCS.Example.org/A?b=c#d ", "https://docs.example.org/A?b=c"),
        ("https://docs.example.org?q=1", "https://docs.example.org/?q=1"),
        ("https://docs.example.org/a b/ü", "https://docs.example.org/a%20b/%C3%BC"),
        ("https://docs.example.org:443/x", "https://docs.example.org/x"),
        ("http://docs.example.org:80/%41", "http://docs.example.org/%41"),
        ("https://docs.example.org/\\@evil.example/", "https://docs.example.org/%5C@evil.example/"),
        ("https://a.b.wiki.example/", "https://a.b.wiki.example/"),
    ],
)
def test_an_address_of_a_listed_host_is_asked_for_as_it_is(url: str, asked: str) -> None:
    assert HOSTS.check(url).url == asked


ELSEWHERE = [
    *("https://evil.example/", "https://wiki.example/", "https://xdocs.example.org/"),
    *("https://docs.example.org.evil.example/", "https://docs.example.org./"),
    *("https://docs.example.org@evil.example/", "https://ada:secret@docs.example.org/"),
    *("https://evil.example\\@docs.example.org/", "https://docs.example.org\\.evil.example/"),
    *("https://docs.example.org%2eevil.example/", "https://docs.example.org%00.evil.example/"),
    *(
        "https://docs\u3002example.org/",
        "https://\u217eocs.example.org/",
        "https://docs.example.org\t/",
    ),
    *("https://docs.example.org/a\r\nHost: evil.example", "https://docs.example.org/\x00"),
    *("//docs.example.org/", "docs.example.org", "/guide", "", "https://", "https:///x"),
    *("file:///etc/passwd", "ftp://docs.example.org/", "gopher://docs.example.org/"),
    *("javascript:alert(1)", "data:text/html,x", "https:/docs.example.org/"),
    *(
        "https://docs.example.org:8080/",
        "http://docs.example.org:443/",
        "https://docs.example.org:",
    ),
    *(
        "https://docs.example.org:0/",
        "https://docs.example.org:99999/",
        "https://a.wiki.example:22",
    ),
    f"https://docs.example.org/{'x' * MAX_URL_LENGTH}",
]
INSIDE = [
    *("127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "017700000001"),
    *("127.1", "127.0.1", "0", "0.0.0.0", "127.0.0.1.", "127.000.000.001"),  # noqa: S104  # nothing listens
    "\uff11\uff12\uff17.0.0.1",
    *(
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
    ),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fe80::1%25lo]", "[fd00::1]", "[::1"),
    *("10.0.0.1", "169.254.169.254", "[fd00:ec2::254]", "0xa9fea9fe", "2852039166", "192.168.1.1"),
    *("localhost", "localhost.", "LOCALHOST", "localhost.localdomain", "metadata.google.internal"),
    *("127.0.0.1:80@docs.example.org", "docs.example.org@127.0.0.1", "docs.example.org#@127.0.0.1"),
    *("198.51.100.7", "8.8.8.8", "1.1.1.1", "[2001:db8::1]", "[2606:4700::1111]"),
]
"""Spellings of addresses, inside and outside: none is a name of the list."""


@pytest.mark.parametrize("url", [*ELSEWHERE, *(f"http://{host}/" for host in INSIDE)])
def test_no_other_address_is_let_through_however_it_is_written(url: str) -> None:
    if url.startswith("http://docs.example.org#@"):  # that is a page of the list, and nothing else
        assert HOSTS.check(url).url == "http://docs.example.org/"
        return
    with pytest.raises(WebNotAllowed) as refused:
        HOSTS.check(url)
    assert "secret" not in str(refused.value)


def test_another_port_needs_the_switch_that_allows_endpoints_inside() -> None:
    policy = build_policy("yes", ("docs.example.org:8080",))
    assert HOSTS.check("http://docs.example.org:8080/", policy).origin.port == 8080
    with pytest.raises(WebNotAllowed, match="leave it out"):
        HOSTS.check("http://docs.example.org:8081/", policy)
