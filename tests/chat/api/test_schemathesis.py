"""Requests made from the document, good and bad, against a real server: every check there is.

No server error, no status, type, header or body that the document does not name, nothing accepted
that it forbids or refused that it allows, no address without a token.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chat.api.site import Program
from tests.support.script import say
from tests.support.timing import PATIENCE

EXAMPLES = 3
LONG_EXAMPLES = 30
SECONDS = 10 * PATIENCE


def fetched(program: Program) -> Any:
    """The document; schemathesis wants the schema of a stream to be that of each event in it."""

    def stream_by_event(found: dict[str, Any]) -> dict[str, Any]:
        item = found.pop("x-itemSchema", None)
        return found if item is None else {**found, "schema": item}

    told = httpx.get(f"{program.site.server.address}/api/openapi.json", trust_env=False).text
    assert told.count("x-itemSchema") == 2
    return json.loads(told, object_hook=stream_by_event)


REFUSALS = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]
"""
"""How what the document forbids may be refused: by default not as too large."""
PHASES = {
    "single requests": ("--phases", "examples,coverage,fuzzing"),
    # It cannot know that what was deleted may be restored, and is there again.
    "requests that follow": (
        *("--phases", "stateful"),
        *("--exclude-path", "/api/projects/{project_id}/restore"),
    ),
}


@pytest.mark.early
@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(EXAMPLES, marks=pytest.mark.ci),
        pytest.param(LONG_EXAMPLES, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("phases", PHASES)
def test_the_server_does_what_its_document_says(
    phases: str, examples: int, program: Program, tmp_path: Path
) -> None:
    program.plays(then=say("It is so."))
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(fetched(program)))
    (tmp_path / "schemathesis.toml").write_text(REFUSALS)
    command = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert command is not None
    done = subprocess.run(
        [
            *(command, "run", str(document), "--url", program.site.server.address),
            *("--header", f"Authorization: Bearer {program.token}"),
            *("--checks", "all", "--max-examples", str(examples), "--generation-deterministic"),
            *("--request-timeout", "20", "--no-color", "--warnings", "off"),
            *PHASES[phases],
        ],
        cwd=tmp_path,
        env={**os.environ, "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=SECONDS * examples / EXAMPLES,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-8_000:]}\n{done.stderr[-2_000:]}"
    assert "No issues found" in done.stdout
