"""The site's settings, with the example package installed as a third party's would be.

The database is a file also in tests: writers in other threads are the point of some of them, and
SQLite's memory databases lock whole tables.
"""

import tempfile
from pathlib import Path
from typing import Any

from oracle_site.settings import *  # noqa: F403  # settings are names in a module
from oracle_site.settings import DATABASES as SITE_DATABASES
from oracle_site.settings import INSTALLED_APPS as SITE_APPS
from oracle_site.settings import STORAGES as SITE_STORAGES

INSTALLED_APPS = [*SITE_APPS, "docs.examples.two_sources"]

# Pages are tested without collecting static files first, and passwords are made-up ones.
STORAGES = {
    **SITE_STORAGES,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True  # else every test client reads all static files first
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

_FOLDER = tempfile.TemporaryDirectory(prefix="oracle-tests-")


def _of_tests(name: str, database: dict[str, Any]) -> dict[str, Any]:
    """A file that need not outlive the power."""
    options = dict(database["OPTIONS"])
    options["init_command"] += "; PRAGMA synchronous=OFF"
    test = {"NAME": str(Path(_FOLDER.name) / f"{name}.sqlite3")}
    return {**database, "OPTIONS": options, "TEST": test}


DATABASES = {
    name: _of_tests(name, database) if database["ENGINE"].endswith("sqlite3") else database
    for name, database in SITE_DATABASES.items()
}
STATIC_ROOT = Path(_FOLDER.name) / "static"
STATIC_ROOT.mkdir()
