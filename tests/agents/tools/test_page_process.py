"""Pages that are read in a process of their own."""

import sys

import pytest

from agents.tools import page_process, page_reading
from agents.tools.definition import ToolFailed
from agents.tools.page_process import read_in_process
from agents.tools.page_reading import FetchedPage, read_page

PAGE = FetchedPage(
    "https://docs.example/",
    "text/html; charset=koi8-r",
    "<title>Юг</title><p>Жди &#x1F30A; <a href=/a>я</a>".encode("koi8-r"),
)


def test_a_page_is_read_there_as_it_would_be_here(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_page(PAGE)
    monkeypatch.setattr(page_reading, "read_page", None)
    assert read_in_process(PAGE) == expected
    assert expected.links == ("https://docs.example/a",)


@pytest.mark.parametrize(
    "program",
    ["import time; time.sleep(60)", "raise MemoryError", "import os; os.kill(os.getpid(), 24)"],
)
def test_a_process_that_hangs_or_breaks_is_told_and_ended(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_process, "MAX_WAIT", 0.05)
    monkeypatch.setattr(page_process, "COMMAND", (sys.executable, "-S", "-c", program))
    with pytest.raises(ToolFailed, match="takes too long"):
        read_in_process(PAGE)
    assert not page_process._ONE_PAGE.locked()
