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

LONGEST = 500
_ANYWHERE = "*"
_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65_535
_SHAPE = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[^\]]*\]|[^/:\[\]]*)(?::(?P<port>\d{1,5}))?(?P<path>/.*)?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_LONGEST_NAME = 253

_INSIDE_4 = tuple(
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
_GLOBAL_6 = ip_network("2000::/3")
"""All of the internet. Outside lie loopback, local and multicast addresses, and those that stand
for IPv4 ones: mapped, compatible, NAT64."""
_INSIDE_6 = tuple(
    ip_network(network)
    for network in (
        "2001::/23",  # Teredo among others
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address is in it
        "3fff::/20",
    )
)
_INSIDE_NAMES = (
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


class NotAllowed(ValueError):
    """An address that people may not use. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a base URL leads to. An IPv6 host is written without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def name(self) -> str:
        """Host and port, as an administrator lists them."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.name}"

    @property
    def is_literal(self) -> bool:
        """Whether the host is an address, not a name."""
        return _address(self.host) is not None


def place_of(base_url: str) -> Place:
    """Where a base URL leads; NotAllowed if it is not written in the one way."""
    _refuse_odd(base_url)
    found = _SHAPE.fullmatch(base_url)
    if found is None:
        raise NotAllowed(
            "This is not an address of a model endpoint. Write it like "
            "https://models.example/v1: http:// or https://, a host, perhaps a port, a path."
        )
    scheme = found["scheme"].lower()
    port = int(found["port"] or _PORTS[scheme])
    if not 1 <= port <= _HIGHEST_PORT:
        raise NotAllowed(f"A port is a number from 1 to {_HIGHEST_PORT:,}.")
    place = Place(scheme, _host(found["host"].lower()), port)
    if not _is_read_alike(base_url, place):
        raise NotAllowed("This address can be read in two ways. Write it more plainly.")
    return place


def is_inside(address: str) -> bool:
    """Whether an IP address is not one of the internet. What cannot be read is inside."""
    ip = _address(address)
    if isinstance(ip, IPv4Address):
        return any(ip in network for network in _INSIDE_4)
    if isinstance(ip, IPv6Address):
        return ip not in _GLOBAL_6 or any(ip in network for network in _INSIDE_6)
    return True


def is_inside_name(host: str) -> bool:
    """Whether a name is one of this machine or its network, whatever it resolves to."""
    labels = host.split(".")
    return len(labels) == 1 or labels[-1] in _INSIDE_NAMES


@dataclass(frozen=True, slots=True)
class Policy:
    """Which endpoints people may use besides the site's own, as the administrator says."""

    own: str = "presets"
    """ "no": none; "presets": the known ones, and what is listed below; "yes": any."""
    inside: frozenset[str] = frozenset()
    """Hosts, or hosts with ports, that may be inside; "*": all."""
    public: frozenset[str] = frozenset()
    """Hosts with ports of the providers that everybody knows."""

    @classmethod
    def of(cls, own: str, inside: Iterable[str], public: Iterable[str] = ()) -> Self:
        names = (entry.strip().lower() for entry in inside)
        return cls(own, frozenset(_bracketed(n) for n in names if n), frozenset(public))

    def lists(self, host: str, port: int) -> bool:
        """Whether the administrator has named this place."""
        host = _bracketed(host)
        return host in self.inside or f"{host}:{port}" in self.inside

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether this host and port may be reached at this IP address."""
        if self.own == "no":
            return False
        if self.lists(host, port):
            return True
        if is_inside(address):
            return _ANYWHERE in self.inside
        return self._permits_public(host, port)

    def check(self, base_url: str) -> Place:
        """Where a base URL leads, or NotAllowed, as far as it can be said without resolving."""
        place = place_of(base_url)
        if self.own == "no":
            raise NotAllowed("Here everybody uses the endpoint of this site.")
        if place.is_literal:
            self.check_addresses(place, [place.host])
        elif not (self.lists(place.host, place.port) or _ANYWHERE in self.inside):
            if is_inside_name(place.host):
                raise _inside(place)
            if not self._permits_public(place.host, place.port):
                raise _unknown(place)
        return place

    def check_addresses(self, place: Place, addresses: Iterable[str]) -> None:
        """NotAllowed if there are addresses of a host, but none that may be used."""
        found = list(addresses)
        if found and not any(self.permits(place.host, place.port, one) for one in found):
            raise _inside(place) if any(map(is_inside, found)) else _unknown(place)

    def _permits_public(self, host: str, port: int) -> bool:
        return self.own == "yes" or f"{_bracketed(host)}:{port}" in self.public


def _inside(place: Place) -> NotAllowed:
    return NotAllowed(
        f"{place.name} is inside the network of this server, or not on the internet. Use a "
        "public address, or ask an administrator to allow this one (ORACLE_INSIDE_ENDPOINTS)."
    )


def _unknown(place: Place) -> NotAllowed:
    return NotAllowed(
        f"{place.name} is not one of the endpoints that this site allows. Choose a provider from "
        "the list, or ask an administrator to allow others (ORACLE_OWN_ENDPOINTS)."
    )


# -- reading --------------------------------------------------------------------------------------


def _refuse_odd(base_url: str) -> None:
    """What an address must not have: it would be read otherwise by somebody."""
    if len(base_url) > LONGEST:
        raise NotAllowed(f"An address has at most {LONGEST} characters.")
    if not (base_url.isascii() and base_url.isprintable()) or re.search(r"[\s\\]", base_url):
        raise NotAllowed(
            "An address has no spaces, backslashes or characters beyond ASCII. "
            "Write an international name as xn--…"
        )
    authority = base_url.partition("://")[2].partition("/")[0]
    if "@" in authority:
        raise NotAllowed("Leave name and password out of the address; the key has its own field.")
    if "?" in base_url or "#" in base_url:
        raise NotAllowed("Leave out the part of the address from ? or # on.")
    if "%" in authority:
        raise NotAllowed("Write the host without %: no zones, nothing encoded.")


def _host(host: str) -> str:
    if host.startswith("["):
        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError:
            raise NotAllowed(f"{host} is not an IPv6 address.") from None
    labels = host.split(".")
    if host.endswith(".") or not all(_LABEL.fullmatch(label) for label in labels):
        raise NotAllowed(
            "The host is not a name like models.example: letters, digits and hyphens, "
            "separated by single dots, with none at the end."
        )
    if len(host) > _LONGEST_NAME:
        raise NotAllowed(f"A host name has at most {_LONGEST_NAME} characters.")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise NotAllowed(
                "Write an IPv4 address as four decimal numbers without leading zeros."
            ) from None
    return host


def _is_read_alike(base_url: str, place: Place) -> bool:
    """Whether the client that will connect reads the same host and port."""
    try:
        url = httpx.URL(base_url)
        host = url.raw_host.decode()
        if (address := _address(host)) is not None:
            host = str(address)
        return (url.scheme, host, url.port or _PORTS[url.scheme]) == (
            place.scheme,
            place.host,
            place.port,
        )
    except (httpx.InvalidURL, KeyError, UnicodeError):
        return False


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _bracketed(host: str) -> str:
    """A host as it is compared and shown: an IPv6 address in its shortest form, in brackets."""
    address = _address(host.strip("[]"))
    return f"[{address}]" if isinstance(address, IPv6Address) else host
