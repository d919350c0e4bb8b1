"""What docs/api.md shows is run as it stands there, against a real server."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.chat.api.site import Program
from tests.support.script import say

PAGE = Path(__file__).resolve().parents[3] / "docs" / "api.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)[1:]


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_of_the_page_work(program: Program) -> None:
    program.plays(then=say("It is so."))
    assert len(BLOCKS) > 4
    told = {"ORACLE": program.site.server.address, "TOKEN": program.token, "NO_PROXY": "*"}
    for block in BLOCKS:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            env={**os.environ, **told},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        assert done.stdout
        assert '"detail"' not in done.stdout, f"{block}\n{done.stdout}"
