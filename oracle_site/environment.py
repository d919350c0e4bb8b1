"""Reading the environment: the few shapes that settings come in."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

PRIVATE_MODE = 0o600


def env_bool(name: str) -> bool:
    """Return whether the variable says 1, true, yes or on."""
    value = os.environ.get(name, "").strip().lower()
    if value in {"", "0", "false", "no", "off"}:
        return False
    if value in {"1", "true", "yes", "on"}:
        return True
    raise ImproperlyConfigured(f"{name} is {value!r}; write 1 or 0.")


def env_choice(name: str, known: tuple[str, ...]) -> str:
    """Return one of a few words; the first unless another is said."""
    value = os.environ.get(name, "").strip().lower() or known[0]
    if value not in known:
        raise ImproperlyConfigured(f"{name} is {value!r}; write one of {', '.join(known)}.")
    return value


def env_list(name: str, default: list[str]) -> list[str]:
    """Return a list separated by commas."""
    found = [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]
    return found or default


def data_dir(default: Path) -> Path:
    """Return ORACLE_DATA_DIR, made if it is missing."""
    folder = Path(os.environ.get("ORACLE_DATA_DIR") or default).resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot keep data in {folder}: {error}. "
            "Set ORACLE_DATA_DIR to a folder that can be written."
        ) from error
    return folder


def database(folder: Path) -> dict[str, Any]:
    """Return PostgreSQL by DATABASE_URL, else SQLite in `folder`."""
    url = os.environ.get("DATABASE_URL", "").strip()
    return _postgresql(url) if url else _sqlite(folder / "oracle.sqlite3")


def _sqlite(path: Path) -> dict[str, Any]:
    """Prepare a file that only its owner can read, and say how it is used.

    Write-ahead logging lets readers pass a writer; IMMEDIATE takes the write lock at the start
    of a transaction, where waiting for it (`timeout`, in seconds) works. Without both, writers
    that meet fail with "database is locked". So keep transactions short. What is logged is moved
    into the file by the runtime every second; a commit does so only when that has fallen behind.
    Deleted rows are overwritten (`secure_delete`), so that nothing erased stays in the file.
    """
    _keep_private(path)
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA wal_autocheckpoint=10000; PRAGMA secure_delete=ON",
        },
    }


def _keep_private(path: Path) -> None:
    """Make a file that is missing, and take the rights of others away from one that is there.

    SQLite gives its log and its index the rights of the file; they may be older than this rule.
    Raises ImproperlyConfigured if the file is write-protected: somebody meant it to stay as it is.
    """
    with suppress(OSError):  # another's file, or a folder that cannot be written: said at the start
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT, PRIVATE_MODE))
    with suppress(OSError):
        if not path.stat().st_mode & stat.S_IWUSR:
            raise ImproperlyConfigured(
                f"The database {path} is write-protected. Allow its owner to write (chmod u+w), "
                "or set ORACLE_DATA_DIR to another folder."
            )
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + suffix).chmod(PRIVATE_MODE)


KEEPALIVES = {
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""A connection that the network cut off is given up after at most 20 seconds, so that a process can
renew its lease over another before the lease is stale. The last is in milliseconds."""


def _postgresql(url: str) -> dict[str, Any]:
    """Return options of libpq, which reads the address itself, as PostgreSQL's own tools do."""
    help_text = "Write postgresql://user:password@host:5432/name, or leave it out for SQLite."
    if not url.startswith(("postgresql://", "postgres://")):
        raise ImproperlyConfigured(f"DATABASE_URL is not a PostgreSQL address. {help_text}")
    from psycopg.conninfo import conninfo_to_dict  # a tenth of the start-up, which SQLite spares

    try:
        options = conninfo_to_dict(url, connect_timeout=10)
    except Exception:  # its message may quote the address, and with it the password
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read. {help_text}") from None
    if not options.get("dbname"):
        raise ImproperlyConfigured(f"DATABASE_URL names no database. {help_text}")
    for name, value in KEEPALIVES.items():
        options.setdefault(name, value)
    # A process that stands still in mid-transaction keeps its locks, and nobody could take its
    # runs over: PostgreSQL ends its session before the lease does.
    options.setdefault("options", "-c idle_in_transaction_session_timeout=15s")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": options.pop("dbname"),
        "USER": options.pop("user", ""),
        "PASSWORD": options.pop("password", ""),
        "HOST": options.pop("host", ""),
        "PORT": options.pop("port", ""),
        "OPTIONS": options,
    }


def channel_layers() -> dict[str, Any]:
    """Return Redis by REDIS_URL; without it there is one process, and nobody else to tell."""
    url = os.environ.get("REDIS_URL", "").strip()
    if not url:
        return {}
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ImproperlyConfigured("REDIS_URL cannot be read. Write redis://host:6379/0.")
    return {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            # A listener waits for as long as it takes: no time-out on its socket.
            # Listeners join again every ten minutes: those of dead processes are soon forgotten.
            "CONFIG": {
                "hosts": [{"address": url, "socket_timeout": None}],
                "expiry": 10,
                "group_expiry": 1800,
            },
        }
    }


def secret_key(folder: Path) -> str:
    """Return ORACLE_SECRET_KEY, else the key in `folder`, made at the first start."""
    if given := os.environ.get("ORACLE_SECRET_KEY"):
        return given
    path = folder / "secret_key"
    try:
        if not path.exists():
            _write_once(path, secrets.token_urlsafe(64))
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot keep a secret key in {folder}: {error}. "
            "Set ORACLE_SECRET_KEY, or ORACLE_DATA_DIR to a folder that can be written."
        ) from error


def _write_once(path: Path, text: str) -> None:
    """Write a private file whole or not at all; of two processes that race, the first wins."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_MODE)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
