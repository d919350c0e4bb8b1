"""Failed sign-ins, counted: after ten in five minutes a name has to wait at that address.

A name alone, or an address alone, is only made to wait for some seconds: else anybody could keep
somebody else out. Counts are rows, so all processes share them, a restart forgets nothing, and no
flood of other names can push one out. Behind a proxy all addresses are the proxy's; then the count
is per name.
"""

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chat.models import SignInCount

MAX_FAILURES = 10
WINDOW_SECONDS = 5 * 60
MAX_DELAY_SECONDS = 5.0
DELAY_STEP_SECONDS = 0.5
"""For each failure above the number that is free."""
CLOCK_SKEW_SECONDS = 60
"""By how much two who count may differ: by their clocks, or by waiting for each other."""
IPV6_PREFIX_LENGTH = 64
"""What one person is given: whoever has one address of it has them all."""


class SignInAttempts:
    """Of one name, from one address. Names that differ in case only are one here."""

    def __init__(self, name: str, address: str) -> None:
        name, address = name.strip().casefold(), get_network(address)
        self._pair_key = _digest("both", name, address)
        self._single_keys = (_digest("name", name), _digest("address", address))

    def get_delay(self) -> float:
        """Return the seconds that the name, or the address, has to wait by now."""
        now = timezone.now()
        rows = SignInCount.objects.filter(_open_window_filter(now), key__in=self._single_keys)
        most = max(rows.values_list("count", flat=True), default=0)
        return min(MAX_DELAY_SECONDS, DELAY_STEP_SECONDS * max(0, most - MAX_FAILURES))

    def register(self) -> bool:
        """Count one, before it is tried, so that many at once are counted too. May it go on?"""
        now = timezone.now()
        SignInCount.objects.exclude(_open_window_filter(now)).delete()
        with transaction.atomic():
            _increment((self._pair_key, *self._single_keys), now)
            counts = SignInCount.objects.filter(key=self._pair_key).values_list("count", flat=True)
            count = counts.first() or 0  # a window that closed just now may be pruned already
        return count <= MAX_FAILURES

    def reset(self) -> None:
        """Forget the failures: it succeeded, so those before it were the person's own."""
        with transaction.atomic():
            SignInCount.objects.filter(key=self._pair_key).delete()
            counted = SignInCount.objects.filter(key__in=self._single_keys, count__gt=0)
            counted.update(count=F("count") - 1)


def get_network(address: str) -> str:
    """Return whose address it is: itself, or the network that an IPv6 address is one of."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, IPV6_PREFIX_LENGTH), strict=False))


def _digest(*parts: str) -> str:
    """Digest with the site's key: there are few enough addresses to try them all."""
    text = "\0".join(parts).encode(errors="surrogatepass")
    return salted_hmac("chat.attempts", text, algorithm="sha256").hexdigest()


def _open_window_filter(now: datetime) -> Q:
    """Match open windows: one that ends too late was opened while the clock ran ahead."""
    latest = now + timedelta(seconds=WINDOW_SECONDS + CLOCK_SKEW_SECONDS)
    return Q(until__gt=now, until__lte=latest)


def _increment(keys: Iterable[str], now: datetime) -> None:
    """Add one to each. Always in the same order: two that meet must not wait for each other."""
    until = now + timedelta(seconds=WINDOW_SECONDS)
    ordered = sorted(keys)
    new = [SignInCount(key=key, count=0, until=until) for key in ordered]
    SignInCount.objects.bulk_create(new, ignore_conflicts=True)
    for key in ordered:
        SignInCount.objects.filter(key=key).update(
            count=Case(When(_open_window_filter(now), then=F("count") + 1), default=Value(1)),
            until=Case(When(_open_window_filter(now), then=F("until")), default=Value(until)),
        )
