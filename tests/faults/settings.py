"""The site's settings, with doors for the fault suite beside its pages. For tests only."""

from oracle_site.settings import *  # noqa: F403  # settings are names in a module

ROOT_URLCONF = "tests.faults.urls"

# What goes wrong in a server is written to its log, for whoever asks why a bound broke.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"log": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["log"], "level": "WARNING"},
}
