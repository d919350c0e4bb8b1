"""`manage.py behaviour`: the problems of a file, or its drawing."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agents.core.behaviours.shipped import load_shipped_texts


def run(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = 0
    try:
        call_command("behaviour", path)
    except SystemExit as error:
        code = int(error.code or 0)
    return code, capsys.readouterr().out.splitlines()


def test_a_good_file_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.lisp"
    path.write_text(load_shipped_texts()["plan-then-do"], encoding="utf-8-sig")
    code, lines = run(path, capsys)
    assert code == 0
    assert lines[0].startswith("plan-then-do: Plans first")
    assert lines[5].endswith("Then write a number…")
    assert lines[3:5] == ["   1  sequence", "   2  ├─ repeater :until-success :max-iterations 4"]


def test_every_problem_of_a_bad_file_is_a_line_and_the_command_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.lisp"
    path.write_text('(tree "mine"\n  (sequence (trun) (call vault_raed)))')
    assert run(path, capsys) == (
        1,
        [
            "2:13: there is no node 'trun'; did you mean 'turn'?",
            "2:26: there is no tool 'vault_raed'; did you mean 'vault_read'?",
        ],
    )


def test_behaviours_beside_the_file_and_shipped_ones_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.lisp"
    path.write_text('(tree "mine" (selector (subtree yours) (subtree plan-then-do)))')
    (tmp_path / "yours.lisp").write_text('(tree "yours" (subtree mine))')
    code, lines = run(path, capsys)
    assert code == 1
    assert lines == [
        "1:33: the behaviour 'yours' has a problem at 1:24: mine would be in itself: "
        "mine → yours → mine"
    ]
    (tmp_path / "yours.lisp").write_text('(tree "yours" (fail))')
    code, lines = run(path, capsys)
    assert (code, lines[-1][:6]) == (0, "  10  ")


def test_a_file_beside_it_that_cannot_be_read_only_matters_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "yours.lisp").write_bytes(b"\xff\xfe")
    path = tmp_path / "mine.lisp"
    path.write_text('(tree "mine" (fail))')
    assert run(path, capsys)[0] == 0
    path.write_text('(tree "mine" (subtree yours))')
    code, lines = run(path, capsys)
    assert (code, lines) == (1, ["1:23: there is no behaviour 'yours'"])


def test_a_file_of_ten_megabytes_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.lisp"
    path.write_text("(" * 10_000_000)
    assert run(path, capsys) == (1, ["1:1: the text is longer than 200,000 characters"])


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mine.lisp"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CommandError, match=r"mine\.lisp cannot be read"):
        call_command("behaviour", path)
