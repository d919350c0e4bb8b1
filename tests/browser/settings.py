"""The site's settings, with doors for the browser tests beside its pages. For tests only."""

from tests.support.quick_passwords import *  # noqa: F403  # settings are names in a module

ROOT_URLCONF = "tests.browser.urls"

# What goes wrong in the server is written to its log: a traceback there fails the test.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"log": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["log"], "level": "WARNING"},
}
