"""The scene, and nothing left over from the test before."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from agents.runtime import current
from tests.access.fake_runtime import FakeRuntime
from tests.access.scene import Scene, forget_debts
from tests.support.history_rewriting import made_up


@pytest.fixture(autouse=True)
def past(request: pytest.FixtureRequest) -> Iterator[None]:
    yield from made_up(request)


@pytest.fixture
def scene(db: None, past: None, settings: Settings, tmp_path: Path) -> Scene:
    settings.DATA_DIR = tmp_path
    return Scene()


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "_runtimes", [FakeRuntime()])


@pytest.fixture(autouse=True)
def nobody_owes_anything() -> None:
    forget_debts()
