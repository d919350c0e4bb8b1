"""`expect` of Playwright, which looks more often while something may still come soon.

    from tests.browser.expectations import expect

Playwright looks twice a second at what has not come within a quarter, unless told to give up soon:
then it keeps looking ten times a second. So it is told that first, and to be patient afterwards.
"""

from functools import partial
from typing import Any, cast

from playwright.sync_api import Expect, Locator, Page
from playwright.sync_api import expect as patient_expect

from tests.browser.profiles import PATIENCE_MS

SOON_MS = 2_400
patient_expect.set_options(timeout=PATIENCE_MS)


class _Soon:
    """The assertions about something."""

    def __init__(self, actual: Locator | Page) -> None:
        self._assertions: Any = patient_expect(actual)

    def __getattr__(self, name: str) -> Any:
        return partial(_attempt, getattr(self._assertions, name))


def _attempt(assertion: Any, *args: Any, **options: Any) -> None:
    __tracebackhide__ = True
    try:
        assertion(*args, **{**options, "timeout": SOON_MS})
    except AssertionError:
        assertion(*args, **options)


expect = cast(Expect, _Soon)
