"""The resolver of the attacked server, in which some names take long. For tests only.

The event loop asks it as libuv asks the machine's: in four threads, which are not freed when a
caller gives up.
"""

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import uvloop

SLOW_DOMAIN = ".slow.invalid"
SLOW_SECONDS = 25.0
_LOOP_THREADS = ThreadPoolExecutor(4)
_resolve = socket.getaddrinfo
_lock = threading.Lock()
slow_hosts: set[str] = set()
"""Names that were asked for and took long."""


def _getaddrinfo(host: Any, *rest: Any, **more: Any) -> Any:
    if not str(host).endswith(SLOW_DOMAIN):
        return _resolve(host, *rest, **more)
    with _lock:
        slow_hosts.add(str(host))
    time.sleep(SLOW_SECONDS)
    raise socket.gaierror(socket.EAI_NONAME, "no such name")


async def _loop_getaddrinfo(
    self: asyncio.AbstractEventLoop, host: Any, port: Any, **more: Any
) -> Any:
    return await self.run_in_executor(_LOOP_THREADS, partial(_getaddrinfo, host, port, **more))


def install() -> None:
    socket.getaddrinfo = _getaddrinfo
    uvloop.Loop.getaddrinfo = _loop_getaddrinfo  # type: ignore[method-assign, assignment]
