"""No test reaches another machine, whatever a resolver says.

In the process of the tests a fixture calls `refuse_other_machines`. Python processes that tests
start import this file by themselves, because its folder is on their PYTHONPATH.
"""

import errno
import ipaddress
import socket
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).parent)
LOCAL_NAMES = {"localhost", "localhost.localdomain", "ip6-localhost", "", None}


class OtherMachine(OSError):
    """Somebody tried to reach another machine."""

    def __init__(self, address: object) -> None:
        super().__init__(errno.ENETUNREACH, f"tests reach no other machine: {address!r}")


def is_here(host: Any) -> bool:
    """Whether a host is this machine, without asking anybody."""
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    if host in LOCAL_NAMES:
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except (ValueError, AttributeError):
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def _check(sock: socket.socket, address: Any) -> None:
    if sock.family != socket.AF_UNIX and not is_here(address[0]):
        raise OtherMachine(address)


class _Guarded:
    """What `socket.socket` does, but only towards this machine."""

    connect, connect_ex, sendto = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.socket.sendto,
    )
    getaddrinfo = staticmethod(socket.getaddrinfo)


def _connect(self: socket.socket, address: Any) -> None:
    _check(self, address)
    _Guarded.connect(self, address)


def _connect_ex(self: socket.socket, address: Any) -> int:
    _check(self, address)
    return _Guarded.connect_ex(self, address)


def _sendto(self: socket.socket, data: Any, *rest: Any) -> int:
    _check(self, rest[-1])
    return _Guarded.sendto(self, data, *rest)


def _getaddrinfo(host: Any, *rest: Any, **more: Any) -> Any:
    """Addresses are read; names of others are unknown, without asking a resolver."""
    if is_here(host) or _is_address(host):
        return _Guarded.getaddrinfo(host, *rest, **more)
    raise socket.gaierror(socket.EAI_NONAME, "tests ask no resolver")


def _is_address(host: Any) -> bool:
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except ValueError:
        return False
    return True


def refuse_other_machines() -> None:
    """From now on, in this process."""
    for name, guarded in (
        ("connect", _connect),
        ("connect_ex", _connect_ex),
        ("sendto", _sendto),
    ):
        setattr(socket.socket, name, guarded)
    socket.getaddrinfo = _getaddrinfo


if __name__ == "sitecustomize":
    refuse_other_machines()
