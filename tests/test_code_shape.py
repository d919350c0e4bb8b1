"""How the code is cut and named: what a reader may count on who looks for something."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("agents", "chat", "oracle_site", "settings_ui")
MAX_FILE_LINES = 500
MAX_TEMPLATE_LINE = 200
MAX_P90_LINES = 20
MIN_TESTED_SHARE = 0.95
ACTIVITIES = re.compile(
    r"(asking|working|deciding|reading|going|settling|trying|erasing|cancelling|choosing"
    r"|continuing|resuming|keeping|mending|told|asked|often|guests|world|home)\.py"
)
"""Names of modules that say what somebody does there, and not what is there."""
PARTICIPLES = re.compile(
    r"_?(told|found|tested|shown|begun|understood|described|kept|sealed|opened|mended|refused)"
)
"""Names of functions that say that something was done, and not what a call does."""
HELPER_PARTICIPLES = re.compile(r"_?(told|found|tested|shown|begun|understood|described)")
"""Those of them that no helper of a test has either."""
TWO_MEANINGS = {
    "Command": "Django's name for every management command",
    "Exchange": "a row of the chat; what an embedded model was told and said",
    "Heading": "a line of a note; what begins a section of the search index",
    "Notice": "what a run has to say; the same in the API's schema",
    "SearchHit": "a note that was found; a conversation that was found",
}
"""At most five."""


@cache
def sources(packages: tuple[str, ...] = PACKAGES) -> dict[Path, str]:
    """Our own modules with code in them."""
    found = (path for package in packages for path in (ROOT / package).rglob("*.py"))
    ours = (path for path in found if "migrations" not in path.parts)
    return {path.relative_to(ROOT): text for path in ours if (text := path.read_text())}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


@cache
def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(parse(path))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def functions_named(
    names: re.Pattern[str], packages: tuple[str, ...]
) -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """To parse all modules takes a second, so only those are that may have one."""
    may_have = re.compile(rf"\bdef\s+(?:{names.pattern})\b")
    for path, text in sources(packages).items():
        if may_have.search(text):
            yield from ((path, one) for one in functions(path) if names.fullmatch(one.name))


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_no_file_is_longer_than_a_reader_keeps_in_mind() -> None:
    lines = {path: len(text.splitlines()) for path, text in sources().items()}
    assert {str(path): n for path, n in lines.items() if n > MAX_FILE_LINES} == {}


def test_nine_of_ten_functions_fit_on_half_a_screen() -> None:
    nodes = (node for path in sources() for node in functions(path))
    lengths = sorted((node.end_lineno or 0) - node.lineno + 1 for node in nodes)
    assert lengths[int(0.9 * len(lengths))] <= MAX_P90_LINES


def test_no_line_of_a_template_has_to_be_scrolled() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "templates").rglob("*.*")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > MAX_TEMPLATE_LINE
    ]
    assert long == []


def test_modules_are_named_for_things() -> None:
    assert [str(path) for path in sources() if ACTIVITIES.fullmatch(path.name)] == []


def test_functions_are_named_for_what_a_call_does() -> None:
    named = [
        f"{path}: {function.name}"
        for path, function in functions_named(PARTICIPLES, PACKAGES)
        if not is_property(function)
    ]
    assert named == []


def test_helpers_of_tests_are_named_for_what_a_call_does() -> None:
    helpers = functions_named(HELPER_PARTICIPLES, ("bench", "tests"))
    assert [f"{path}: {one.name}" for path, one in helpers] == []


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(set)
    for path in sources():
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].add(str(path))
    assert {name for name, paths in places.items() if len(paths) > 1} <= set(TWO_MEANINGS)
    assert len(TWO_MEANINGS) <= 5


def modules_naming(name: str) -> set[str]:
    return {
        str(path)
        for path, text in sources().items()
        if name in text
        for node in ast.walk(parse(path))
        if name in (getattr(node, "id", ""), getattr(node, "attr", ""))
    }


def test_events_are_rows_of_the_ledger_and_the_audit_alone() -> None:
    """So that they can be kept elsewhere: CONTRIBUTING says which files that touches."""
    readers = {str(Path(path).parent) for path in modules_naming("RunEvent")}
    assert readers <= {"agents/ledger", "agents/audit", "agents/models"}


def test_one_function_says_which_limits_somebody_has() -> None:
    """So that limits of groups and the like have one place. The API shows what one set oneself."""
    assert modules_naming("to_config") == {"agents/settings_service.py", "chat/api/settings.py"}


def has_test(path: Path) -> bool:
    """Of its own, or of its package, in the same folder below tests/."""
    folder = ROOT / "tests" / path.parent
    if (folder / f"test_{path.stem}.py").exists():
        return True
    if len(path.parts) == 2 and path.parts[0] != "oracle_site":  # nothing is about an app as such
        return False
    whole = folder.parent / f"test_{path.parent.name}.py"
    return whole.exists() or any(folder.glob("test_*.py"))


def test_tests_are_where_the_code_is() -> None:
    named = [path for path in sources() if path.name != "__init__.py"]
    without = [str(path) for path in named if not has_test(path)]
    assert len(without) <= (1 - MIN_TESTED_SHARE) * len(named), without


def test_every_way_that_is_shown_to_readers_leads_somewhere() -> None:
    shown = re.findall(r"`([\w/.]+/[\w/.]*)`", (ROOT / "docs/finding-your-way.md").read_text())
    assert len(shown) >= 30
    assert [path for path in shown if not (ROOT / path).exists()] == []


def test_the_architecture_shows_every_package() -> None:
    tree = (ROOT / "docs/architecture.md").read_text().split("```")[1]
    shown = set(re.findall(r"^ *([\w/]+)/", tree, re.MULTILINE))
    packages = {path.parent for path in sources() if 2 <= len(path.parts) <= 3}
    unseen = {"management", "server", "templatetags", "forms", "services", "views"}
    assert {str(path) for path in packages if path.name not in shown | unseen} == set()
