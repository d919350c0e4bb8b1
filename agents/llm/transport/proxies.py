"""The proxies that the environment names, as httpx reads them: by scheme, but for some hosts."""

from ipaddress import ip_address
from urllib.request import getproxies

import httpx

NO_PROXIES = "*"


def environment_proxies() -> dict[str, httpx.Proxy | None]:
    """Return URL patterns, as `mounts` has them, each with its proxy; None is a direct way."""
    named = getproxies()
    direct = [host for entry in named.get("no", "").split(",") if (host := entry.strip())]
    if NO_PROXIES in direct:
        return {}
    found: dict[str, httpx.Proxy | None] = {
        f"{scheme}://": httpx.Proxy(url if "://" in url else f"http://{url}")
        for scheme in ("http", "https", "all")
        if (url := named.get(scheme))
    }
    return found | {_pattern_for(host): None for host in direct}


def _pattern_for(host: str) -> str:
    """Return the pattern of a host without a proxy: a name stands for those below it, too."""
    if "://" in host:
        return host
    try:
        address = ip_address(host.partition("/")[0])
    except ValueError:
        return f"all://{host}" if host.lower() == "localhost" else f"all://*{host}"
    return f"all://[{host}]" if address.version == 6 else f"all://{host}"
