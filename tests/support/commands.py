"""The command line, as a person uses it: real processes, a database of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.template import copy_site

ROOT = Path(__file__).resolve().parents[2]


class Site:
    """A fresh site in a folder, and its manage.py."""

    def __init__(self, folder: Path, **environment: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ORACLE_")}
        self.environment = {
            **kept,
            "ORACLE_DATA_DIR": str(folder),
            "DJANGO_SETTINGS_MODULE": "oracle_site.settings",
            **environment,
        }

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(copy_site(tmp_path / "data"))
