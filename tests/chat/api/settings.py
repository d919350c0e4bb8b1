"""The site's settings for a server that programs are let loose on. For tests only."""

from tests.browser.settings import *  # noqa: F403  # settings are names in a module

ROOT_URLCONF = "tests.chat.api.backdoor_urls"
API_PER_MINUTE = {"ask": 100_000, "read": 100_000, "change": 100_000}
