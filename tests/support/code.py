"""Code for tests, as an import would have stored it; no grammar is needed for it."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.db import transaction

from agents.code.file_rows import FileChange, prepare_text, write_files
from agents.code.importer import import_code
from agents.code.parsed_file import ParsedFile, ParsedSymbol
from agents.code.sources import open_code_source
from agents.core.sanitize import replace_unstorable
from agents.models import CodeCheckout, CodeFile, CodeSymbol, Project
from agents.vault.import_sources import SourceFile


def add_code(
    project: Project,
    path: str,
    text: str = "",
    symbols: Sequence[ParsedSymbol] = (),
    references: Mapping[str, list[int]] | None = None,
) -> CodeFile:
    data = text.encode()
    digest = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    file = ParsedFile(
        language="python",
        text=text,
        reading=CodeFile.Reading.PARSED,
        symbols=list(symbols),
        references=json.dumps(dict(references or {})),
    )
    with transaction.atomic():
        change = FileChange(path, len(data), digest, data, file=file)
        prepare_text(project.pk, change)
        write_files(project.pk, [change])
    return CodeFile.objects.get(project=project, path=path)


GAUGE = (
    "class Gauge:\n    def read(self) -> float:\n        return 1.0\n\n\nlevel = Gauge().read()\n"
)
GAUGE_SYMBOLS = (
    ParsedSymbol("Gauge", "", "class", 1, 3, "class Gauge:"),
    ParsedSymbol("read", "Gauge", "method", 2, 3, "def read(self) -> float:"),
)


def add_gauge(project: Project, path: str = "src/gauge.py") -> CodeFile:
    """A class with a method, and a line that uses both."""
    return add_code(project, path, GAUGE, GAUGE_SYMBOLS, {"Gauge": [6], "read": [6]})


def add_checkout(project: Project, folder: str = "", origin: str = "gauge") -> CodeCheckout:
    return CodeCheckout.objects.create(project=project, folder=folder, origin=origin)


PAYLOAD_FILE = "a'onclick=alert(1) b&quot;.js"


def import_payloads(project: Project, folder: Path, payloads: Sequence[str]) -> list[str]:
    """Import a class whose methods have these names, as JavaScript allows; what they are called."""
    strings = [json.dumps(replace_unstorable(payload).replace("\0", "")) for payload in payloads]
    methods = "\n".join(f"  {string}() {{ return 1 }}" for string in strings)
    (folder / PAYLOAD_FILE).write_text(f"class Evil {{\n{methods}\n}}\n", encoding="utf-8")
    with open_code_source(folder) as source:
        import_code(project.pk, source)
    known = CodeSymbol.objects.filter(project=project, container="Evil")
    return list(known.order_by("line").values_list("name", flat=True))


def make_source(path: str, data: bytes) -> SourceFile:
    return SourceFile(path, lambda: io.BytesIO(data))


def make_zip(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text.encode("latin-1"))
    return made.getvalue()
