"""Reading the environment: the few shapes that settings come in."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def flag(name: str) -> bool:
    """Off unless the variable says 1, true, yes or on."""
    value = os.environ.get(name, "").strip().lower()
    if value in {"", "0", "false", "no", "off"}:
        return False
    if value in {"1", "true", "yes", "on"}:
        return True
    raise ImproperlyConfigured(f"{name} is {value!r}; write 1 or 0.")


def words(name: str, default: list[str]) -> list[str]:
    """A list separated by commas."""
    found = [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]
    return found or default


def data_dir(default: Path) -> Path:
    """ORACLE_DATA_DIR, made if it is missing."""
    folder = Path(os.environ.get("ORACLE_DATA_DIR") or default).resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"Cannot keep data in {folder}: {error}. "
            "Set ORACLE_DATA_DIR to a folder that can be written."
        ) from error
    return folder


def secret_key(folder: Path) -> str:
    """ORACLE_SECRET_KEY, else the key in `folder`, made at the first start."""
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
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
