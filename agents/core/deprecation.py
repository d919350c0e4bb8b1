"""Names that moved: the old import lines keep working, and say where the names went."""

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def moved_to(module: str, renamed: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module whose names are in another one now."""

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        new = (renamed or {}).get(name, name)
        found = getattr(import_module(module), new)
        warnings.warn(
            f"{name} moved: use `from {module} import {new}`.", DeprecationWarning, stacklevel=2
        )
        return found

    return find
