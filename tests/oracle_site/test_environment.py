"""Addresses of databases and layers: what is read, and what a mistake is told with."""

import sqlite3
import stat
import traceback
from contextlib import closing
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agents.ledger.leases import RENEW_SECONDS, STALE_AFTER
from oracle_site.environment import channel_layers, database, env_choice

SECRET = "p4ssw0rd-that-nobody-may-see"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


def test_without_an_address_the_database_is_a_file(tmp_path: Path) -> None:
    found = database(tmp_path)
    assert found["ENGINE"] == "django.db.backends.sqlite3"
    assert found["NAME"] == tmp_path / "oracle.sqlite3"


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_only_its_owner_can_read_the_database(suffix: str, tmp_path: Path) -> None:
    before = tmp_path / f"oracle.sqlite3{suffix}"
    before.touch(0o644)
    made = database(tmp_path)["NAME"]
    assert stat.S_IMODE(before.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_write_protected_database_is_refused_and_stays_so(tmp_path: Path) -> None:
    protected = tmp_path / "oracle.sqlite3"
    protected.touch()
    protected.chmod(0o444)
    with pytest.raises(ImproperlyConfigured, match=r"write-protected.*chmod u\+w"):
        database(tmp_path)
    assert stat.S_IMODE(protected.stat().st_mode) == 0o444


def test_what_sqlite_writes_beside_it_is_private_too(tmp_path: Path) -> None:
    path = database(tmp_path)["NAME"]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE notes (text)")
        modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        assert len(list(tmp_path.iterdir())) == 3
    assert modes == {0o600}


def test_sqlite_takes_its_lock_at_once_and_lets_readers_pass(tmp_path: Path) -> None:
    options = database(tmp_path)["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert "journal_mode=WAL" in options["init_command"]
    assert "wal_autocheckpoint=10000" in options["init_command"]  # the runtime does it before
    assert "secure_delete=ON" in options["init_command"]  # not every SQLite is built so
    assert options["timeout"] >= 5


def test_a_choice_is_its_first_word_unless_another_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ORACLE_CHOICE", raising=False)
    assert env_choice("ORACLE_CHOICE", ("some", "all")) == "some"
    monkeypatch.setenv("ORACLE_CHOICE", " ALL ")
    assert env_choice("ORACLE_CHOICE", ("some", "all")) == "all"


def test_a_misspelt_choice_is_refused_rather_than_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_CHOICE", "everything")
    with pytest.raises(ImproperlyConfigured, match="one of some, all"):
        env_choice("ORACLE_CHOICE", ("some", "all"))


@pytest.mark.parametrize("blank", ["", "  "])
def test_an_empty_address_is_none(
    blank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", blank)
    monkeypatch.setenv("REDIS_URL", blank)
    assert database(tmp_path)["ENGINE"] == "django.db.backends.sqlite3"
    assert channel_layers() == {}


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_full_address_of_postgresql_is_read(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"{scheme}://ada:{SECRET}@db.example:5433/oracle")
    found = database(tmp_path)
    assert found["ENGINE"] == "django.db.backends.postgresql"
    named = {name: found[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    assert named == {
        "NAME": "oracle",
        "USER": "ada",
        "PASSWORD": SECRET,
        "HOST": "db.example",
        "PORT": "5433",
    }


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://db.example/oracle", {"USER": "", "PASSWORD": "", "PORT": ""}),
        ("postgresql://ada:a%40b%2Fc@db.example/oracle", {"PASSWORD": "a@b/c"}),
        ("postgresql://ada@[::1]:5432/oracle", {"HOST": "::1", "PORT": "5432"}),
        ("postgresql:///oracle?host=/var/run/postgresql", {"HOST": "/var/run/postgresql"}),
        ("postgresql://a,b/oracle", {"HOST": "a,b"}),
        ("  postgresql://db.example/oracle\n", {"NAME": "oracle"}),
    ],
)
def test_every_form_that_postgresql_knows_is_read(
    address: str, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", address)
    found = database(tmp_path)
    assert {name: found[name] for name in expected} == expected


def test_options_in_the_address_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example/oracle?sslmode=verify-full")
    options = database(tmp_path)["OPTIONS"]
    assert options["sslmode"] == "verify-full"
    assert int(options["connect_timeout"]) > 0


def test_a_connection_to_postgresql_that_is_cut_off_is_given_up_before_the_lease_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example/oracle?keepalives_interval=4")
    options = {name: str(value) for name, value in database(tmp_path)["OPTIONS"].items()}
    assert options["keepalives_interval"] == "4"  # what the address says comes first
    idle, interval, count = (
        int(options[f"keepalives_{name}"]) for name in ("idle", "interval", "count")
    )
    silence = max(idle + interval * count, int(options["tcp_user_timeout"]) / 1_000)
    assert RENEW_SECONDS + silence < STALE_AFTER["postgresql"].total_seconds()


@pytest.mark.parametrize(
    "address",
    [
        f"mysql://ada:{SECRET}@db.example/oracle",
        f"ada:{SECRET}@db.example/oracle",
        f"postgresql://ada:{SECRET}@db.example",
        f"postgresql://ada:{SECRET}@db.example/",
        f"postgresql://ada:{SECRET}%zz@db.example/oracle",
        f"postgresql://ada:{SECRET}@[::1/oracle",
        f"postgresql://ada:{SECRET}@db.example/oracle?nonsense=1",
    ],
)
def test_a_wrong_address_of_a_database_is_explained_without_its_password(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", address)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as caught:
        database(tmp_path)
    shown = "".join(traceback.format_exception(caught.value))
    assert "postgresql://user:password@host" in str(caught.value)
    assert SECRET not in shown


@pytest.mark.parametrize(
    "address",
    [
        "redis://127.0.0.1:6379/0",
        f"redis://:{SECRET}@redis.example:6379/1",
        "rediss://redis.example:6380/0",
        "unix:///run/redis.sock",
    ],
)
def test_a_layer_waits_for_as_long_as_it_takes(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", address)
    layer = channel_layers()["default"]
    assert layer["BACKEND"] == "channels_redis.core.RedisChannelLayer"
    (host,) = layer["CONFIG"]["hosts"]
    assert host["address"] == address
    assert host["socket_timeout"] is None


def test_without_an_address_there_is_no_layer() -> None:
    assert channel_layers() == {}


@pytest.mark.parametrize("address", [f"http://:{SECRET}@redis.example", f":{SECRET}@redis.example"])
def test_a_wrong_address_of_a_layer_is_explained_without_its_password(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", address)
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL") as caught:
        channel_layers()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
