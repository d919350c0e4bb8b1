"""`python -m bench.code CHECKOUT`: how well and how quickly code is read, against other truths.

Give it a checkout of django, say. Definitions are compared with Python's `ast`, and with the
TypeScript compiler where `--typescript` says where its `typescript.js` lies. Times are of the
processor, workers included.
"""

import argparse
import ast
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.core.management import call_command
from django.db import connection
from tree_sitter import Language, Parser

from agents.code.importer import import_code
from agents.code.languages import detect_language, find_grammar
from agents.code.project_code import ProjectCode
from agents.code.repo_map import load_graph
from agents.code.service import Certainty
from agents.code.sources import open_code_source
from agents.code.worker.extraction import extract
from agents.code.worker.grammars import load_language
from agents.models import CodeFile, CodeSymbol, Project, SearchDocument, SearchSection

COMPILER_SCRIPT = Path(__file__).parent / "code_truth.js"
MAX_IMPORT_RATIO = 3.0
MAX_MAP_SECONDS = 0.5
MAX_AGAIN_SECONDS = 0.2
MIN_RECALL = 0.97


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--typescript", type=Path, help="the compiler's typescript.js")
    parser.add_argument("--sample", type=int, default=0, help="print so many certain references")
    parser.add_argument("--seed", type=int, default=16, help="which references are sampled")
    parser.add_argument("--rounds", type=int, default=3, help="of the import, and of bare parsing")
    options = parser.parse_args()
    print(f"== {options.checkout.name}")
    failed = report_python_recall(options.checkout)
    if options.typescript:
        failed |= report_typescript_recall(options.checkout, options.typescript)
    call_command("migrate", verbosity=0)
    project, is_slow = report_import(options.checkout, options.rounds)
    failed |= is_slow
    failed |= report_map(project)
    if options.sample:
        print_sample(project, options.sample, options.seed)
    return int(failed)


# -- definitions ----------------------------------------------------------------------------------


def report_python_recall(checkout: Path) -> bool:
    """Compare functions, classes and variables with those of `ast`."""
    expected, found = set(), set()
    for file in sorted(checkout.rglob("*.py")):
        data = file.read_bytes()
        try:
            module = ast.parse(data)
        except (SyntaxError, ValueError):
            continue
        path = str(file)
        expected |= {(path, *each) for each in list_ast(module)}
        symbols = extract(data, "python")["symbols"]
        found |= {(path, name, line) for name, _, _, line, *_ in symbols}
    return show_recall("Python's ast", expected, found)


def list_ast(node: ast.AST, in_function: bool = False) -> Iterator[tuple[str, int]]:
    """Return name and line of functions and classes, and of variables outside of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            # Its own line: decorators stand above it.
            yield child.name, child.lineno
            yield from list_ast(child, not isinstance(child, ast.ClassDef))
        elif isinstance(child, ast.Lambda):
            continue
        else:
            if not in_function and isinstance(child, ast.Assign | ast.AnnAssign):
                yield from list_targets(child)
            yield from list_ast(child, in_function)


def list_targets(statement: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, int]]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        yield from ((each.id, each.lineno) for each in parts if isinstance(each, ast.Name))


def report_typescript_recall(checkout: Path, compiler: Path) -> bool:
    """Compare declarations with those of the TypeScript compiler."""
    files = [f for end in ("ts", "tsx") for f in sorted(checkout.rglob(f"*.{end}"))]
    files = [f for f in files if "node_modules" not in f.parts]
    names = "\n".join(map(str, files))
    run = subprocess.run(
        ["node", str(COMPILER_SCRIPT), str(compiler)],  # noqa: S607  # as a shell finds it
        input=names.encode(),
        capture_output=True,
        check=True,
    )
    expected = {tuple(each) for each in json.loads(run.stdout)}
    found = set()
    for file in files:
        grammar = "tsx" if file.suffix == ".tsx" else "typescript"
        symbols = extract(file.read_bytes(), grammar)["symbols"]
        found |= {(str(file), name, line) for name, _, _, line, *_ in symbols}
    return show_recall("the TypeScript compiler", expected, found)


def show_recall(truth: str, expected: set[Any], found: set[Any]) -> bool:
    """Print the shares; a repeated assignment counts as found where its name was found before."""
    if not expected:
        return False
    known = {(path, name) for path, name, _ in found}
    hits = sum(each in found or each[:2] in known for each in expected)
    exact = len(expected & found)
    print(
        f"{truth}: {len(expected):,} definitions, {hits / len(expected):.4f} found by name and "
        f"file, {exact / len(expected):.4f} at the same line; "
        f"{len(found & expected) / max(1, len(found)):.4f} of {len(found):,} found are there"
    )
    missed = sorted(each for each in expected if each not in found and each[:2] not in known)
    for each in missed[:10]:
        print("  missed:", Path(each[0]).name, *each[1:])
    return hits / len(expected) < MIN_RECALL


# -- times ----------------------------------------------------------------------------------------


def measure(work: Callable[[], Any]) -> float:
    """Return the seconds of the processor that something takes, here and in its processes."""
    before = count_seconds()
    work()
    return count_seconds() - before


def count_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def report_import(checkout: Path, rounds: int) -> tuple[Project, bool]:
    """Import into an empty database in turns with bare parsing; return the last project."""
    ratios = []
    for _ in range(rounds):
        call_command("flush", verbosity=0, interactive=False)
        project = Project.objects.create(name="code")
        ratios.append(compare_import(project, checkout))
    file = checkout / pick_file(project)
    again = min(measure_again(project, checkout, file) for _ in range(3))
    print(f"in turns: {statistics.median(ratios):.2f} times")
    print(f"again after one changed file: {again:.3f} s of the processor")
    is_slow = statistics.median(ratios) > MAX_IMPORT_RATIO or again > MAX_AGAIN_SECONDS
    return project, is_slow


def compare_import(project: Project, checkout: Path) -> float:
    """Return an import as a multiple of bare parsing and inserts of the same."""
    began = time.monotonic()
    ours = measure(lambda: read_in(project, checkout))
    took = time.monotonic() - began
    files = CodeFile.objects.filter(project=project)
    parsed = files.filter(reading=CodeFile.Reading.PARSED)
    parsing = measure(lambda: parse_all(parsed))
    inserting = measure(insert_all)
    ratio = ours / (parsing + inserting)
    print(
        f"import: {files.count():,} files, {parsed.count():,} parsed, {count_symbols(project):,} "
        f"definitions; {ours:.2f} s of the processor in {took:.1f} s; bare parsing {parsing:.2f} "
        f"s, index inserts {inserting:.2f} s: {ratio:.2f} times"
    )
    return ratio


def read_in(project: Project, checkout: Path) -> None:
    with open_code_source(checkout) as source:
        import_code(project.pk, source)


def count_symbols(project: Project) -> int:
    return CodeSymbol.objects.filter(project=project).count()


def parse_all(files: Any) -> None:
    """Parse the same files with nothing but tree-sitter."""
    parsers: dict[str, Parser] = {}
    for path, text in files.values_list("path", "text"):
        data = text.encode()
        grammar = find_grammar(path, detect_language(path), data)
        if grammar not in parsers:
            parsers[grammar] = Parser(Language(load_language(grammar)))
        parsers[grammar].parse(data)


def insert_all() -> None:
    """Insert the rows of the index again, as they are, with their FTS5 entries."""
    with connection.cursor() as cursor:
        for model in (SearchDocument, SearchSection):
            table = model._meta.db_table
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608  # our own names
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
            cursor.execute(f"CREATE TABLE bare_{table} AS SELECT * FROM {table} LIMIT 0")  # noqa: S608  # our own names
            fts = ", ".join(name for name in names if name.endswith("_terms") or name == "scope")
            cursor.execute(f"CREATE VIRTUAL TABLE bare_{table}_fts USING fts5({fts})")
            marks = ", ".join(["%s"] * len(names))
            places = [names.index(name) for name in fts.split(", ")]
            for start in range(0, len(rows), 500):
                part = rows[start : start + 500]
                cursor.execute("BEGIN")
                cursor.executemany(f"INSERT INTO bare_{table} VALUES ({marks})", part)  # noqa: S608  # our own names
                cursor.executemany(
                    f"INSERT INTO bare_{table}_fts VALUES ({', '.join(['%s'] * len(places))})",  # noqa: S608  # our own names
                    [tuple(row[place] for place in places) for row in part],
                )
                cursor.execute("COMMIT")
            cursor.execute(f"DROP TABLE bare_{table}")
            cursor.execute(f"DROP TABLE bare_{table}_fts")


def pick_file(project: Project) -> str:
    """Return the path of a large file that is parsed."""
    parsed = CodeFile.objects.filter(project=project, reading=CodeFile.Reading.PARSED)
    return parsed.order_by("-size").values_list("path", flat=True)[50]


def measure_again(project: Project, checkout: Path, file: Path) -> float:
    """Change one file, and measure reading everything again; it is as it was afterwards."""
    before = file.read_bytes()
    try:
        file.write_bytes(before + b"\n# changed %d\n" % time.monotonic_ns())
        return measure(lambda: read_in(project, checkout))
    finally:
        file.write_bytes(before)


def build_first_map(code: ProjectCode) -> None:
    load_graph.cache_clear()
    code.build_map("", 2_000)


def report_map(project: Project) -> bool:
    code = ProjectCode(project.pk)
    took = min(measure(lambda: build_first_map(code)) for _ in range(3))
    kept = min(measure(lambda: code.build_map("", 2_000)) for _ in range(3))
    asked = min(measure(lambda: code.build_map("how are migrations applied", 2_000)) for _ in "12")
    found = code.build_map("", 2_000)
    shown = [each.dotted_name for file in found.files for each in file.definitions]
    print(
        f"map of 2,000 tokens: {took:.3f} s of the processor for the first one, {kept:.3f} s with "
        f"the graph in memory, {asked:.3f} s for a question; "
        f"{len(shown)} of {found.definition_count:,} definitions, {found.token_count:,} tokens"
    )
    print("  ", ", ".join(shown[:40]))
    return took > MAX_MAP_SECONDS


# -- references -----------------------------------------------------------------------------------


def print_sample(project: Project, count: int, seed: int) -> None:
    """Print certain references with their definitions, for somebody to judge."""
    chance = random.Random(seed)
    names = sorted(set(CodeSymbol.objects.filter(project=project).values_list("name", flat=True)))
    code = ProjectCode(project.pk)
    printed = 0
    while printed < count:
        name = chance.choice(names)
        found = code.find_references(name, 50)
        certain = [each for each in found.found if each.certainty is Certainty.CERTAIN]
        if not certain:
            continue
        each = chance.choice(certain)
        printed += 1
        places = "; ".join(f"{d.path}:{d.line} {d.dotted_name}" for d in found.definitions[:4])
        print(f"{printed}. {name} <- {each.path}:{each.line}: {each.text[:110]}")
        print(f"     {places}")


if __name__ == "__main__":
    sys.exit(main())
