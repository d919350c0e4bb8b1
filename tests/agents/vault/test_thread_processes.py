"""Two processes that write to one thread at once: no number twice, none left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.services import Missing
from tests.support.template import MIGRATED, copy_site, migrated_postgres

ROOT = Path(__file__).resolve().parents[3]
PUSHES = 150
MANAGE = [sys.executable, "manage.py"]
WRITE = """
import sys
from agents.models import Project
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry
project = Project.objects.get(slug="harbour")
print("ready", flush=True)
sys.stdin.readline()
for number in range({pushes}):
    entry = NewEntry(f"{name} {{number}}", "decision")
    print(push_entry(project.pk, "power", entry, Author.importer()).number)
"""
READ = """
from agents.models import SearchDocument, Thread
thread = Thread.objects.get()
numbers = list(thread.entries.order_by("number").values_list("number", flat=True))
texts = list(thread.entries.order_by("number").values_list("text", flat=True))
print(thread.entry_count, numbers == list(range(1, len(numbers) + 1)), len(set(texts)))
print(*(" ".join(t for t in texts if t.startswith(name)) == " ".join(
    f"{name} {n}" for n in range(%d)) for name in ("ada", "eve")))
print(SearchDocument.objects.filter(kind="thread").count())
"""


def run_shell(environment: dict[str, str], code: str) -> str:
    command = [*MANAGE, "shell", "-v", "0", "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def start_writer(environment: dict[str, str], name: str) -> subprocess.Popen[str]:
    code = WRITE.format(pushes=PUSHES, name=name)
    return subprocess.Popen(
        [*MANAGE, "shell", "-v", "0", "-c", code],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def push_from_two_processes(environment: dict[str, str]) -> list[int]:
    """Let both begin at the same moment; the numbers that they were told."""
    writers = [start_writer(environment, name) for name in ("ada", "eve")]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    told = [writer.communicate(timeout=120)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    return sorted(int(number) for numbers in told for number in numbers)


def check_two_processes(environment: dict[str, str]) -> None:
    made = "from agents.models import Project; Project.objects.create(name='h', slug='harbour')"
    run_shell(environment, made)
    assert push_from_two_processes(environment) == list(range(1, 2 * PUSHES + 1))
    found = run_shell(environment, READ % PUSHES).split("\n")
    count = 2 * PUSHES
    assert found[:3] == [f"{count} True {count}", "True True", str(count)]


@pytest.mark.scale
def test_two_processes_get_consecutive_numbers_on_postgresql() -> None:
    try:
        service = migrated_postgres()
    except Missing as missing:
        pytest.skip(str(missing))
    with service as postgres:
        check_two_processes({**os.environ, "DATABASE_URL": postgres.create("threads", MIGRATED)})


@pytest.mark.scale
def test_two_processes_get_consecutive_numbers_on_sqlite(tmp_path: Path) -> None:
    check_two_processes({**os.environ, "ORACLE_DATA_DIR": str(copy_site(tmp_path))})
