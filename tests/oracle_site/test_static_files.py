"""Names with a digest, in pages and in the imports of JavaScript modules."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import FileSystemFinder

from oracle_site.static_files import StaticFilesStorage

IMPORTED = re.compile(r"""from "\./([\w.]+)";""")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> tuple[StaticFilesStorage, Path]:
    """Our own static files, as collectstatic leaves them."""
    folder = tmp_path_factory.mktemp("static")
    storage = StaticFilesStorage(folder, settings.STATIC_URL)
    paths = {}
    for name, source in FileSystemFinder().list([]):
        with source.open(name) as content:
            storage.save(name, content)
        paths[name] = (storage, name)
    failures = [done for _, _, done in storage.post_process(paths) if isinstance(done, Exception)]
    assert failures == []  # a circle of imports would be one
    return storage, folder


def test_a_module_imports_others_by_names_with_a_digest(
    collected: tuple[StaticFilesStorage, Path],
) -> None:
    storage, folder = collected
    modules = [name for name in storage.hashed_files if name.startswith("js/")]
    assert len(modules) >= 6
    for name in modules:
        written = (folder / storage.hashed_files[name]).read_text()
        source = (settings.BASE_DIR / "static" / name).read_text()
        expected = [
            Path(storage.hashed_files[f"js/{imported}"]).name
            for imported in IMPORTED.findall(source)
        ]
        assert IMPORTED.findall(written) == expected


def test_what_a_module_exports_stays_as_it_was(collected: tuple[StaticFilesStorage, Path]) -> None:
    """Imports are found by a pattern, which a careless line could make it find elsewhere."""
    storage, folder = collected
    for name in (name for name in storage.hashed_files if name.startswith("js/")):
        source = (settings.BASE_DIR / "static" / name).read_text()
        written = (folder / storage.hashed_files[name]).read_text()
        assert IMPORTED.sub("", written) == IMPORTED.sub("", source)
