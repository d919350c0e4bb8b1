"""The house rules: what the repository promises about itself."""

import ast
import os
import re
import stat
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from pytest_django import Settings

from oracle_site.environment import data_dir, env_bool, env_list, secret_key

ROOT = Path(__file__).resolve().parents[1]

# Folders that belong to one machine or one person.
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:root|work|(?:home|Users)/[\w.-]+)/")
REGISTRY_ADDRESS = re.compile(
    r"--(?:extra-)?index-url|--find[-]links|pypi[.]org/simple|pythonhosted[.]org"
    r"|\"resolved\": *\"http|\w+://\S+/simple/?\s*$|url *= *\"http[^\"]*[.](?:whl|tar[.]gz)\"",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def checkout() -> dict[str, str]:
    """Every text file of the checkout, by path: tracked, or not yet and not ignored."""
    git = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    files = {}
    for name in filter(None, listed.split("\0")):
        with suppress(UnicodeDecodeError, FileNotFoundError):  # binary, or just deleted
            files[name] = (ROOT / name).read_text(encoding="utf-8")
    assert "pyproject.toml" in files
    return files


def test_no_file_names_a_path_of_this_machine(checkout: dict[str, str]) -> None:
    own = [f"{ROOT}/", *([f"{Path.home()}/"] if Path.home() != Path("/") else [])]
    found = [
        name
        for name, text in checkout.items()
        if MACHINE_PATH.search(text) or any(path in text for path in own)
    ]
    assert found == []


def test_no_file_names_a_package_registry(checkout: dict[str, str]) -> None:
    assert [name for name, text in checkout.items() if REGISTRY_ADDRESS.search(text)] == []


@pytest.mark.parametrize("line", ["see /" + "home/ada/notes", "cd /" + "root/x"])
def test_a_machine_path_would_be_found(line: str) -> None:
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize(
    "line", ["--index" + "-url x", "--extra" + "-index-url x", "https://host/simple" + "/"]
)
def test_a_registry_address_would_be_found(line: str) -> None:
    assert REGISTRY_ADDRESS.search(line)


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_requirements_are_fully_pinned(name: str) -> None:
    lines = (ROOT / f"{name}.txt").read_text().splitlines()
    pins = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    unpinned = [line for line in pins if not re.fullmatch(r"[a-z0-9-]+==[\w.+!]+", line)]
    assert unpinned == []
    pinned = {line.partition("==")[0] for line in pins}
    assert asked_for(ROOT / f"{name}.in") - pinned == set()


def asked_for(path: Path) -> set[str]:
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return {
        match[0]
        for line in lines
        if not line.startswith("-") and (match := re.match(r"[a-z0-9-]+", line))
    }


def test_both_requirement_files_agree() -> None:
    development = set((ROOT / "requirements-dev.txt").read_text().splitlines())
    runtime = (ROOT / "requirements.txt").read_text().splitlines()
    assert [line for line in runtime if "==" in line and line not in development] == []


def test_what_templates_ask_for_is_encoded() -> None:
    templates = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    asked = [each for text in templates for each in re.findall(r'hx-\w+="(.*?)"', text)]
    queries = [each.partition("?")[2] for each in asked if "{% url" in each]
    assert len(queries) > 5
    unsafe = re.compile(r"{{(?!.*urlencode)[^}]*}}")
    assert [query for query in queries if unsafe.search(query)] == []


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_the_readme_shows_the_first_commands(command: str) -> None:
    assert command in (ROOT / "README.md").read_text()


def test_the_readme_names_every_variable_that_settings_read() -> None:
    code = "".join(path.read_text() for path in (ROOT / "oracle_site").glob("*.py"))
    readme = (ROOT / "README.md").read_text()
    variables = set(re.findall(r"\bORACLE_[A-Z_]+\b", code))
    assert variables
    assert [name for name in sorted(variables) if f"`{name}`" not in readme] == []


def test_the_loop_runs_without_django_and_httpx() -> None:
    program = (
        "import sys, agents.core.loop.run\n"
        "print(sorted({'django', 'httpx'} & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_every_ruff_ignore_of_the_project_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    ignored = [
        *lint["ignore"],
        *(code for codes in lint["per-file-ignores"].values() for code in codes),
    ]
    explained = re.findall(r'^\s*"([A-Z]+\d+)", +# \w+', text, re.MULTILINE)
    assert ignored
    assert sorted(explained) == sorted(ignored)


def test_every_noqa_names_its_rule_and_its_reason(checkout: dict[str, str]) -> None:
    bare = [
        f"{name}: {line.strip()}"
        for name, text in checkout.items()
        if name.endswith(".py")
        for line in text.splitlines()
        if re.search(r"#\s*noqa", line, re.IGNORECASE)
        and not re.search(r"#\s*noqa: [A-Z]+\d+(, ?[A-Z]+\d+)* +[-#:(]* *\w+", line)
    ]
    assert bare == []


def test_markers_stand_in_the_files_of_their_tests(checkout: dict[str, str]) -> None:
    """By the word `make` chooses the files of tests that it leaves to a command of their own."""
    assert not [
        path
        for path, text in checkout.items()
        if path.startswith("tests/") and not Path(path).name.startswith("test_")
        if re.search(r"mark\.(ci|scale|timed)\b", text)
    ]


CLOCKS = r"(?:monotonic|perf_counter|process_time|thread_time)(?:_ns)?"
SECONDS = re.compile(
    rf"\btime[.]{CLOCKS}\(|(?<![.\w]){CLOCKS}\(\)"
    r"|\bassert .*\b(?:seconds|took|elapsed) <"
    r"|\b(?:asyncio[.]timeout|wait_for)\((?:.*, )?\d{1,2}(?:[.]\d+)?\)"
)


def find_seconds(module: str) -> list[str]:
    """Return the functions of a test module that read a clock of this machine, assert that
    something took less than some seconds, or give it less than a hundred of them.

    Tests marked `timed`, and what their modules have for them, may. So may virtual time, and a wait
    that is expected to fail.
    """
    if not SECONDS.search(module):
        return []
    found = []
    for node in ast.parse(module).body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        marks = decorators if node.name.startswith("test_") else module
        if "virtual" not in decorators and not re.search(r"mark[.]timed", marks):
            text = "\n".join(map(ast.unparse, node.body))
            match = SECONDS.search(text)
            if match and not ("(TimeoutError)" in text and match[0].startswith(("async", "wait"))):
                found.append(node.name)
    return found


def test_only_tests_marked_timed_assert_seconds(checkout: dict[str, str]) -> None:
    """They differ from machine to machine: see CONTRIBUTING."""
    assert not [
        f"{path}: {name}"
        for path, text in checkout.items()
        if path.startswith("tests/") and Path(path).name.startswith("test_")
        for name in find_seconds(text)
    ]


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("began = time.monotonic()", True),
        ("began = time.process_time_ns()", True),
        ("best = thread_time() - began", True),
        ("assert ran.seconds < 5", True),
        ("assert 0.1 <= took < 5", True),
        ("async with asyncio.timeout(5): work()", True),
        ("await asyncio.wait_for(work(), 1.5)", True),
        ("async with asyncio.timeout(PATIENCE): work()", False),
        ("with raises(TimeoutError): await wait_for(work(), 1)", False),
        ("assert measure_multiple(work, other) <= 5", False),
        ("now = clock.monotonic()", False),
    ],
)
def test_seconds_of_this_machine_would_be_found(body: str, is_found: bool) -> None:
    test = f"async def test_work():\n    {body}\n"
    assert bool(find_seconds(test)) is is_found
    assert not find_seconds(f"@mark.{'timed'}\n{test}")
    assert not find_seconds(f"@virtual_time\n{test}")


def test_healthz_answers_over_plain_http(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    response = client.get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok")


def test_other_addresses_are_sent_to_https(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    response = client.get("/nowhere")
    assert response.status_code == 301
    assert response["Location"].startswith("https://")


def test_a_missing_secret_key_is_made_once_and_kept_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORACLE_SECRET_KEY", raising=False)
    key = secret_key(tmp_path)
    assert len(key) >= 50
    assert secret_key(tmp_path) == key
    assert os.listdir(tmp_path) == ["secret_key"]
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_the_given_secret_key_wins_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLE_SECRET_KEY", "given")
    assert secret_key(tmp_path) == "given"
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_hold_a_key_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORACLE_SECRET_KEY", raising=False)
    with pytest.raises(ImproperlyConfigured, match="Set ORACLE_SECRET_KEY"):
        secret_key(tmp_path / "missing")


def test_the_data_folder_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_DATA_DIR", str(tmp_path / "new" / "data"))
    folder = data_dir(tmp_path / "default")
    assert folder == tmp_path / "new" / "data"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not (tmp_path / "default").exists()


def test_a_data_folder_that_cannot_be_made_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORACLE_DATA_DIR", raising=False)
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match="Set ORACLE_DATA_DIR"):
        data_dir(tmp_path / "file")


@pytest.mark.parametrize(
    ("value", "expected"), [("", False), ("0", False), ("1", True), ("On", True)]
)
def test_a_flag_is_off_unless_switched_on(
    value: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLE_FLAG", value)
    assert env_bool("ORACLE_FLAG") is expected


def test_a_misspelt_flag_is_refused_rather_than_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_FLAG", "ture")
    with pytest.raises(ImproperlyConfigured, match="ORACLE_FLAG"):
        env_bool("ORACLE_FLAG")


def test_a_list_of_words_ignores_blanks_and_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_WORDS", " a, ,b ")
    assert env_list("ORACLE_WORDS", ["x"]) == ["a", "b"]
    monkeypatch.setenv("ORACLE_WORDS", " , ")
    assert env_list("ORACLE_WORDS", ["x"]) == ["x"]
