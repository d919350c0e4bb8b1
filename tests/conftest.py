"""Fixtures that every test may use."""

import gc
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator

import pytest
from django.db import connection
from django.template import Template
from django.test import Client, TransactionTestCase
from hypothesis import settings
from hypothesis.strategies import characters
from pytest_django import DjangoDbBlocker

from agents.tools.blocking import THREADS
from tests.support.guarded import sitecustomize
from tests.support.seeds import sum_up
from tests.support.sign_in import sign_in
from tests.support.template import DATABASE, SHARED, PostgresTables, Tables, made_site

# How long an example takes says how busy the machine is; where time counts, a test measures it.
# `make test-ci` looks at more examples than `make test`, and `make test-long` at the most.
settings.register_profile("tests", deadline=None, max_examples=20)
settings.register_profile("ci", deadline=None, max_examples=100)
settings.register_profile("thorough", deadline=None, max_examples=300)
settings.load_profile("tests")

_render = vars(Template)["_render"]

_shared = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()


def pytest_configure(config: pytest.Config) -> None:
    """All workers of this run share a folder; they inherit its name."""
    if SHARED not in os.environ:
        config.stash[_shared] = tempfile.TemporaryDirectory(prefix="oracle-run-")
        os.environ[SHARED] = config.stash[_shared].name
    gc.disable()  # nothing that is imported is garbage


def pytest_unconfigure(config: pytest.Config) -> None:
    if _shared in config.stash:
        del os.environ[SHARED]
        config.stash[_shared].cleanup()


def pytest_collection_finish() -> None:
    """What is there by now stays: no collection of garbage need look at it again. Collecting less
    often than a server does saves a tenth of the time. And hypothesis looks at all of Unicode once,
    not in each process."""
    characters(codec="utf-8").validate()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in sum_up(terminalreporter.getreports("passed")):
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True, scope="session")
def nothing_reaches_another_machine() -> Iterator[None]:
    """Only loopback and sockets of files, here and in every Python process that a test starts."""
    path = [sitecustomize.FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, getattr(socket.socket, name))  # put back at the end
        patch.setattr(socket, "getaddrinfo", socket.getaddrinfo)
        patch.setenv("PYTHONPATH", os.pathsep.join(path))
        sitecustomize.refuse_other_machines()
        yield


@pytest.fixture(autouse=True, scope="session")
def signing_in_is_cheap() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "force_login", sign_in)
        yield


@pytest.fixture(autouse=True, scope="session")
def rendering_is_not_recorded(django_test_environment: None) -> Iterator[None]:
    """No test asks of which templates a page was made. Django would copy what each was given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", _render)
        yield


@pytest.fixture(scope="session")
def _nothing() -> None:
    """Stands in for what pytest-django does around every test for those that use mail, sites, a
    live server, models of their own, classes or other templates. None of ours does."""


_dj_autoclear_mailbox = _django_clear_site_cache = _live_server_helper = _nothing
_django_isolate_apps = _django_setup_unittest = _template_string_if_invalid_marker = _nothing


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest, django_db_modify_db_settings: None) -> bool:
    """A SQLite database of the tests is a copy of one that is migrated already."""
    if connection.vendor != "sqlite":
        return bool(request.config.getoption("reuse_db"))
    shutil.copyfile(made_site() / DATABASE, connection.settings_dict["TEST"]["NAME"])
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """After a test that commits Django empties every table, and fills some again: 0.1 s on SQLite,
    more on PostgreSQL. Putting back what was there takes milliseconds."""
    with pytest.MonkeyPatch.context() as patch:
        with django_db_blocker.unblock():
            is_sqlite = connection.vendor == "sqlite"
            name = str(connection.settings_dict["NAME"])
            tables = Tables(name) if is_sqlite else PostgresTables()
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: tables.put_back())
        yield
        tables.close()
        THREADS.close_idle()  # no database that somebody is connected to can be dropped
