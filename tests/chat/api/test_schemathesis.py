"""Requests made from the document, good and bad, against a real server: every check there is.

No server error, no status, type, header or body that the document does not name, nothing accepted
that it forbids or refused that it allows, no address without a token.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.chat.api.site import Program
from tests.support.script import say

EXAMPLES = 6
SECONDS = 120


def test_the_server_does_what_its_document_says(program: Program, tmp_path: Path) -> None:
    program.plays(then=say("It is so."))
    command = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert command is not None
    done = subprocess.run(
        [
            *(command, "run", f"{program.site.server.address}/api/openapi.json"),
            *("--header", f"Authorization: Bearer {program.token}"),
            *("--checks", "all", "--max-examples", str(EXAMPLES), "--generation-deterministic"),
            *("--request-timeout", "20", "--no-color", "--warnings", "off"),
        ],
        cwd=tmp_path,
        env={**os.environ, "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-8_000:]}\n{done.stderr[-2_000:]}"
    assert "No issues found" in done.stdout
