"""Where a base URL leads, and whether that is inside: this machine, its network, what stands for
them. No I/O.

A person's own base URL must not become a way into the network of the server. There are many ways
to write an address; one is understood here, and everything else is refused, so that nobody who
reads the address later can take it for another.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Self

import httpx

MAX_URL_LENGTH = 500
_ANY_HOST = "*"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535
_URL_PATTERN = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[^\]]*\]|[^/:\[\]]*)(?::(?P<port>\d{1,5}))?(?P<path>/.*)?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_MAX_HOSTNAME_LENGTH = 253

_PRIVATE_IPV4_NETWORKS = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers, and some clouds
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local; clouds tell secrets here
        "168.63.129.16/32",  # public by its looks, but a cloud's own service to its machines
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_IPV6_NETWORK = ip_network("2000::/3")
"""All of the internet. Outside lie loopback, local and multicast addresses, and those that stand
for IPv4 ones: mapped, compatible, NAT64."""
_PRIVATE_IPV6_NETWORKS = tuple(
    ip_network(network)
    for network in (
        "2001::/23",  # Teredo among others
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address is in it
        "3fff::/20",
    )
)
_PRIVATE_SUFFIXES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "arpa",
)


class EndpointNotAllowed(ValueError):
    """An address that people may not use. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class EndpointOrigin:
    """What a base URL leads to. An IPv6 host is written without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """Host and port, as an administrator lists them."""
        return f"{_format_host(self.host)}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    @property
    def is_ip(self) -> bool:
        """Whether the host is an address, not a name."""
        return _parse_ip(self.host) is not None


def parse_base_url(base_url: str) -> EndpointOrigin:
    """Return where a base URL leads; EndpointNotAllowed if it is not written in the one way."""
    _refuse_ambiguous(base_url)
    found = _URL_PATTERN.fullmatch(base_url)
    if found is None:
        raise EndpointNotAllowed(
            "This is not an address of a model endpoint. Write it like "
            "https://models.example/v1: http:// or https://, a host, perhaps a port, a path."
        )
    scheme = found["scheme"].lower()
    port = int(found["port"] or _DEFAULT_PORTS[scheme])
    if not 1 <= port <= _MAX_PORT:
        raise EndpointNotAllowed(f"A port is a number from 1 to {_MAX_PORT:,}.")
    place = EndpointOrigin(scheme, _parse_host(found["host"].lower()), port)
    if not _httpx_parses_alike(base_url, place):
        raise EndpointNotAllowed("This address can be read in two ways. Write it more plainly.")
    return place


def is_private_address(address: str) -> bool:
    """Return whether an IP address is not one of the internet. What cannot be read is inside."""
    ip = _parse_ip(address)
    if isinstance(ip, IPv4Address):
        return any(ip in network for network in _PRIVATE_IPV4_NETWORKS)
    if isinstance(ip, IPv6Address):
        return ip not in _GLOBAL_IPV6_NETWORK or any(
            ip in network for network in _PRIVATE_IPV6_NETWORKS
        )
    return True


def is_private_hostname(host: str) -> bool:
    """Return whether a name is one of this machine or its network, whatever it resolves to."""
    labels = host.split(".")
    return len(labels) == 1 or labels[-1] in _PRIVATE_SUFFIXES


@dataclass(frozen=True, slots=True)
class EndpointPolicy:
    """Which endpoints people may use besides the site's own, as the administrator says."""

    own: str = "presets"
    """ "no": none; "presets": the known ones, and what is listed below; "yes": any."""
    inside: frozenset[str] = frozenset()
    """Hosts, or hosts with ports, that may be inside; "*": all."""
    public: frozenset[str] = frozenset()
    """Hosts with ports of the providers that everybody knows."""

    @classmethod
    def from_settings(cls, own: str, inside: Iterable[str], public: Iterable[str] = ()) -> Self:
        names = (entry.strip().lower() for entry in inside)
        return cls(own, frozenset(_format_host(n) for n in names if n), frozenset(public))

    def is_allowlisted(self, host: str, port: int) -> bool:
        """Return whether the administrator has named this place."""
        host = _format_host(host)
        return host in self.inside or f"{host}:{port}" in self.inside

    def permits(self, host: str, port: int, address: str) -> bool:
        """Return whether this host and port may be reached at this IP address."""
        if self.own == "no":
            return False
        if self.is_allowlisted(host, port):
            return True
        if is_private_address(address):
            return _ANY_HOST in self.inside
        return self._permits_public(host, port)

    def check(self, base_url: str) -> EndpointOrigin:
        """Return where a base URL leads, or EndpointNotAllowed, as known without resolving."""
        place = parse_base_url(base_url)
        if self.own == "no":
            raise EndpointNotAllowed("On this site everybody uses the site's endpoint.")
        if place.is_ip:
            self.check_addresses(place, [place.host])
        elif not (self.is_allowlisted(place.host, place.port) or _ANY_HOST in self.inside):
            if is_private_hostname(place.host):
                raise _private_address_error(place)
            if not self._permits_public(place.host, place.port):
                raise _unknown_endpoint_error(place)
        return place

    def check_addresses(self, origin: EndpointOrigin, addresses: Iterable[str]) -> None:
        """Raise EndpointNotAllowed if a host has addresses, but none that may be used."""
        found = list(addresses)
        if found and not any(self.permits(origin.host, origin.port, one) for one in found):
            raise (
                _private_address_error(origin)
                if any(map(is_private_address, found))
                else _unknown_endpoint_error(origin)
            )

    def _permits_public(self, host: str, port: int) -> bool:
        return self.own == "yes" or f"{_format_host(host)}:{port}" in self.public


def _private_address_error(origin: EndpointOrigin) -> EndpointNotAllowed:
    return EndpointNotAllowed(
        f"{origin.netloc} is inside the network of this server, or not on the internet. Use a "
        "public address, or ask an administrator to allow this one (ORACLE_INSIDE_ENDPOINTS)."
    )


def _unknown_endpoint_error(origin: EndpointOrigin) -> EndpointNotAllowed:
    return EndpointNotAllowed(
        f"{origin.netloc} is not one of the endpoints that this site allows. Choose a provider "
        "from the list, or ask an administrator to allow others (ORACLE_OWN_ENDPOINTS)."
    )


# -- reading --------------------------------------------------------------------------------------


def _refuse_ambiguous(base_url: str) -> None:
    """Refuse what an address must not have: somebody would read it in another way."""
    if len(base_url) > MAX_URL_LENGTH:
        raise EndpointNotAllowed(f"An address has at most {MAX_URL_LENGTH} characters.")
    if not (base_url.isascii() and base_url.isprintable()) or re.search(r"[\s\\]", base_url):
        raise EndpointNotAllowed(
            "An address has no spaces, backslashes or characters beyond ASCII. "
            "Write an international name as xn--…"
        )
    authority = base_url.partition("://")[2].partition("/")[0]
    if "@" in authority:
        raise EndpointNotAllowed(
            "Leave name and password out of the address; the key has its own field."
        )
    if "?" in base_url or "#" in base_url:
        raise EndpointNotAllowed("Leave out the part of the address from ? or # on.")
    if "%" in authority:
        raise EndpointNotAllowed("Write the host without %: no zones, nothing encoded.")


def _parse_host(host: str) -> str:
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError:
            raise EndpointNotAllowed(f"{host} is not an IPv6 address.") from None
    labels = host.split(".")
    if host.endswith(".") or not all(_LABEL.fullmatch(label) for label in labels):
        raise EndpointNotAllowed(
            "The host is not a name like models.example: letters, digits and hyphens, "
            "separated by single dots, with none at the end."
        )
    if len(host) > _MAX_HOSTNAME_LENGTH:
        raise EndpointNotAllowed(f"A host name has at most {_MAX_HOSTNAME_LENGTH} characters.")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise EndpointNotAllowed(
                "Write an IPv4 address as four decimal numbers without leading zeros."
            ) from None
    return host


def _httpx_parses_alike(base_url: str, origin: EndpointOrigin) -> bool:
    """Return whether the client that will connect reads the same host and port."""
    try:
        url = httpx.URL(base_url)
        host = url.raw_host.decode()
        if (address := _parse_ip(host)) is not None:
            host = str(address)
        return (url.scheme, host, url.port or _DEFAULT_PORTS[url.scheme]) == (
            origin.scheme,
            origin.host,
            origin.port,
        )
    except (httpx.InvalidURL, KeyError, UnicodeError):
        return False


def _parse_ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _format_host(host: str) -> str:
    """Return a host as it is compared and shown: IPv6 in its shortest form, in brackets."""
    address = _parse_ip(host.strip("[]"))
    return f"[{address}]" if isinstance(address, IPv6Address) else host
