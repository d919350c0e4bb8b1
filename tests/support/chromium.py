"""The browser of tests, pictures and figures: the one that this machine has."""

import os
import shutil

MISSING = "no chromium on PATH. Debian: apt-get install chromium-headless-shell"
SANDBOX = ["--no-sandbox"] if os.geteuid() == 0 else []
"""Arguments to start it with: it refuses its sandbox to root."""


def find_chromium() -> str | None:
    """Return where it is. The first is Chromium without windows, which takes a quarter less."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")
