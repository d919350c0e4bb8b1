"""Which pages of the web may be read: those of the hosts that an administrator has listed.

An address is written in the one way that `agents.llm` reads the addresses of endpoints in, and its
host is a name of the list. So no spelling of an IP address is ever let through.
"""

from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlsplit

import httpx

from agents.llm import (
    EndpointNotAllowed,
    EndpointOrigin,
    EndpointPolicy,
    is_private_hostname,
    parse_base_url,
)

MAX_URL_LENGTH = 2_000
_WILDCARD = "*."
_PORTS = {"http": 80, "https": 443}
_SAFE = "!#$%&'()*+,/:;=?@[]~"
"""What stays as it is in a path or a query, besides letters, digits and -._"""
INTERNET_ONLY = EndpointPolicy("yes")
"""Any address of the internet, and none inside the network of this server."""


class WebNotAllowed(ValueError):
    """An address that may not be read, or a host that cannot be listed. The message says why."""


@dataclass(frozen=True, slots=True)
class PageUrl:
    """The address of a page whose host may be asked."""

    origin: EndpointOrigin
    url: str


@dataclass(frozen=True, slots=True)
class WebHosts:
    """The hosts whose pages may be read: names, and `*.` before one for all below it."""

    names: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, lines: str) -> Self:
        """Read a list with one host on each line; WebNotAllowed says which line is wrong, and why.

        Empty lines are left out. What is written in upper case is the same name.
        """
        names = (line.strip().lower() for line in lines.splitlines())
        return cls(frozenset(_check_entry(name) for name in names if name))

    def __bool__(self) -> bool:
        return bool(self.names)

    def allows(self, host: str) -> bool:
        """Return whether a name is on the list, or below one that stands for all below it."""
        labels = host.split(".")
        above = (".".join(labels[number:]) for number in range(1, len(labels)))
        return host in self.names or any(_WILDCARD + name in self.names for name in above)

    def check(self, url: str, policy: EndpointPolicy = INTERNET_ONLY) -> PageUrl:
        """Return the address of a page that may be read; else WebNotAllowed says why not.

        Only the usual ports: another one is another service. `policy` can name exceptions.
        """
        page = parse_page_url(url)
        origin = page.origin
        if origin.is_ip or not self.allows(origin.host):
            raise WebNotAllowed(
                f"{origin.host} is not one of the hosts whose pages this site lets you read: "
                f"{', '.join(sorted(self.names))}."
            )
        is_usual = origin.port == _PORTS[origin.scheme]
        if not (is_usual or policy.is_allowlisted(origin.host, origin.port)):
            raise WebNotAllowed(f"Port {origin.port} may not be asked: leave it out.")
        return page


def parse_page_url(url: str) -> PageUrl:
    """Return an address as it is asked for, without what follows a `#`."""
    url = url.strip().partition("#")[0]
    if len(url) > MAX_URL_LENGTH:
        raise WebNotAllowed(f"An address has at most {MAX_URL_LENGTH:,} characters.")
    scheme, separator, rest = url.partition("://")
    end = min((at for at in map(rest.find, "/?") if at >= 0), default=len(rest))
    try:
        if not url.isprintable():
            raise EndpointNotAllowed("It has invisible characters.")
        origin = parse_base_url(scheme + separator + rest[:end])
        found = PageUrl(origin, _format_url(origin, rest[end:]))
        _check_client_reads_alike(found)
    except (EndpointNotAllowed, UnicodeError):
        raise WebNotAllowed(
            "This is not an address of a page that can be read. Write it like "
            "https://host.example/path, with a name as host, and no user or password."
        ) from None
    return found


def name_host(url: str) -> str:
    """Return the host of an address for people to read, or what stands there instead of one."""
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


def _format_url(origin: EndpointOrigin, rest: str) -> str:
    port = "" if origin.port == _PORTS[origin.scheme] else f":{origin.port}"
    host = origin.netloc.rpartition(":")[0]
    slash = "" if rest.startswith("/") else "/"
    return f"{origin.scheme}://{host}{port}{slash}{quote(rest, safe=_SAFE)}"


def _check_client_reads_alike(page: PageUrl) -> None:
    try:
        url = httpx.URL(page.url)
    except httpx.InvalidURL as error:
        raise EndpointNotAllowed(str(error)) from None
    origin = page.origin
    if (url.scheme, url.port or _PORTS[url.scheme]) != (origin.scheme, origin.port) or (
        url.host != origin.host and not origin.is_ip
    ):
        raise EndpointNotAllowed("It can be read in two ways.")


def _check_entry(name: str) -> str:
    """Return a line of the list if it is a host that can be allowed."""
    host = name.removeprefix(_WILDCARD)
    try:
        origin = parse_base_url(f"https://{host}")
    except EndpointNotAllowed:
        origin = None
    if origin is None or origin.host != host:
        raise WebNotAllowed(
            f"{name!r} is not a host name. Write it like docs.example.org, without https://, port "
            "or path; *.example.org stands for all hosts below example.org."
        )
    if origin.is_ip:
        raise WebNotAllowed(f"{name!r} is an IP address. List the name of the host.")
    if name != host and "." not in host:
        raise WebNotAllowed(f"{name!r} stands for everybody's hosts. Name one of them.")
    if is_private_hostname(host):
        raise WebNotAllowed(
            f"{name!r} is a name inside a network. Only hosts of the internet can be listed."
        )
    return name
