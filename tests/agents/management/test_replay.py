"""`manage.py replay`: what is printed, and that bad input is one clear line."""

import gzip
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from agents.core.chunks import Turn
from agents.core.config import AgentConfig
from agents.models import AgentRun
from tests.agents.audit.stored_runs import FIVE_TURNS, STUCK, kept, stored
from tests.agents.core.recorded_runs import chunks_of
from tests.agents.core.test_stuck import recorded as turns_of

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
TRACES = ROOT.parent / "shared" / "traces" / "dev.jsonl.gz"


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("replay", *arguments, stdout=out)
    return out.getvalue()


def lines(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(*arguments, "--json").splitlines()]


def count(output: str, words: str) -> int:
    """The number before some words of the summary."""
    (found,) = [line.split()[0] for line in output.splitlines() if line.endswith(f"  {words}")]
    return int(found.replace(",", ""))


# -- stored runs ----------------------------------------------------------------------------------


def test_without_changes_every_run_ends_as_it_did() -> None:
    stored(FIVE_TURNS)
    stored(STUCK)
    output = said()
    assert "2 runs replayed" in output
    assert count(output, "as they did") == 2
    assert "Runs that change" not in output


def test_other_limits_are_told_in_sums_and_run_by_run() -> None:
    run = stored(FIVE_TURNS)
    stored(STUCK)
    output = said("--set", "max_iterations=3")
    assert count(output, "earlier") == 2
    assert "Iterations saved: 3 of 9 (33.3 %)." in output
    assert "Tokens saved: about" in output
    assert "Completed runs that would have been cut: 1." in output
    assert "1  completed -> max_iterations" in output
    assert f"{run.pk}  completed, 5 iterations -> max_iterations, 3 iterations  (cut)" in output


def test_what_is_not_known_is_said_and_why() -> None:
    run = stored(STUCK)
    output = said("--stuck", "identical=0")
    assert count(output, "later") == 1
    assert "1  no_progress -> not known" in output
    assert "what it would have done next was not recorded" in output
    assert f"{run.pk}  no_progress, 4 iterations -> later, not known" in output


def test_another_tree_is_tried() -> None:
    stored([*FIVE_TURNS[:4], *FIVE_TURNS])
    assert "completed -> max_iterations" in said("--tree", "quick")


def test_a_damaged_run_is_not_known_and_the_others_are() -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    kept(chunks, but=[next(c for c in chunks if isinstance(c, Turn))])
    stored(STUCK)
    output = said()
    assert (count(output, "not known"), count(output, "as they did")) == (1, 1)
    assert "1  Events of this run are missing or damaged." in output


def test_runs_are_named_by_the_beginning_of_their_ids() -> None:
    runs = [stored(STUCK), stored(FIVE_TURNS)]
    assert [line["id"] for line in lines(str(runs[1].pk)[:8])[:-1]] == [str(runs[1].pk)]


def test_runs_are_filtered() -> None:
    old, new = stored(STUCK), stored(FIVE_TURNS)
    earlier = timezone.now() - timedelta(days=3)
    going = kept(chunks_of(FIVE_TURNS, AgentConfig())[:5], started_at=earlier)
    today = datetime.now(UTC).date().isoformat()
    for arguments, found in (
        (["--reason", "no_progress"], {old}),
        (["--reason", "timeout"], set()),
        (["--user", "ada"], {old, new}),
        (["--since", today], {old, new}),
        (["--since", f"{today}T00:00:00+00:00"], {old, new}),
        (["--since", "2199-01-01"], set()),
        ([], {old, new}),
    ):
        ids = {line["id"] for line in lines(*arguments) if line["type"] == "run"}
        assert ids == {str(run.pk) for run in found}, arguments
    assert AgentRun.objects.filter(pk=going.pk, outcome=None).exists()


def test_json_has_a_line_for_every_run_and_then_the_sums() -> None:
    run = stored(FIVE_TURNS)
    one, sums = lines("--set", "max_iterations=3")
    assert (one["type"], one["id"], one["kind"]) == ("run", str(run.pk), "earlier")
    assert (one["reason"], one["turn"], one["was_cut"]) == ("max_iterations", 3, True)
    assert (sums["type"], sums["runs"], sums["kinds"]["earlier"]) == ("summary", 1, 1)
    assert sums["changes"] == [{"old_reason": "completed", "reason": "max_iterations", "runs": 1}]


def test_no_runs_are_no_error() -> None:
    assert "0 runs replayed" in said()


# -- files of recorded runs -----------------------------------------------------------------------


def trace(name: str, *results: str, **values: Any) -> str:
    return json.dumps({"id": name, "turns": turns_of(*results), "final": "stop", **values})


def file_of(folder: Path, *content: str, name: str = "runs.jsonl") -> str:
    path = folder / name
    data = "\n".join(content).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_a_file_of_runs_is_replayed_and_scored(tmp_path: Path, name: str) -> None:
    label = {"label": "stuck", "stuck_kind": "exact", "stuck_from": 2, "success": False}
    stuck = trace("stuck", *["same"] * 9, **label)
    fine = trace("fine", *"abcdef", label="progress", success=True)
    output = said("--traces", file_of(tmp_path, stuck, "", fine, name=name))
    assert "2 runs replayed" in output
    assert "stuck  completed, 9 iterations -> no_progress, 4 iterations  (cut)" in output
    assert "loops: 7 with a limit of 30, 1 with these rules and 15: 85.7 % fewer" in output
    assert "of 1 successful runs the rules stop 0; 0 take more than 15 iterations" in output
    assert "loops: accuracy 100.0 %, false positives 0.0 %, recall 100.0 %" in output
    assert "token_budget is not applied to 2 runs" in output


def test_runs_without_labels_are_not_scored(tmp_path: Path) -> None:
    assert "No run is labelled" in said("--traces", file_of(tmp_path, trace("fine", *"abc")))


def test_names_in_a_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    name = "a\x1b[2Jb"
    output = said("--traces", file_of(tmp_path, trace(name, *["same"] * 9)))
    assert "a?[2Jb  completed, 9 iterations" in output
    assert "\x1b" not in output


@pytest.mark.skipif(not TRACES.exists(), reason="the recorded runs (shared/traces) are not here")
@pytest.mark.ci
def test_the_figures_of_the_stuck_rules_are_reproduced() -> None:
    output = said("--traces", str(TRACES))
    assert "2,225 runs replayed" in output
    for line in (
        "loops: 631 with a limit of 30, 63 with these rules and 15: 90.0 % fewer",
        "all kinds: 907 with a limit of 30, 156 with these rules and 15: 82.8 % fewer",
        "of 858 successful runs the rules stop 6; 411 take more than 15 iterations",
        "loops: accuracy 97.4 %, false positives 1.5 %, recall 88.6 %",
        "all kinds: accuracy 95.5 %, false positives 1.5 %, recall 79.7 %",
    ):
        assert line in output
    assert output.index("Iterations wasted") < output.index("Stuck runs found")


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "max_iterations=0"], "max_iterations: Must be a whole number from 1 to 50"),
        (["--set", "max_iterations=51"], "max_iterations: Must be"),
        (["--set", "max_iterations"], "give FIELD=VALUE with a whole number"),
        (["--set", "max_iterations=many"], "give FIELD=VALUE with a whole number"),
        (["--set", "=3"], "There is no such setting"),
        (["--set", "colour=3"], "There is no such setting"),
        (["--tree", "nonsense"], "There is no tree 'nonsense'. Known: default"),
        (["--tree", ""], "There is no tree ''"),
        (["--stuck", ""], "--stuck '': give FIELD=VALUE"),
        (["--stuck", "identical"], "--stuck 'identical': give FIELD=VALUE"),
        (["--stuck", "identical=1"], "identical: must be a whole number from 2 to 50, or 0"),
        (["--stuck", "identical=3,known=99"], "known: must be a whole number from 2 to 50"),
        (
            ["--stuck", "near=3"],
            "There is no stuck rule 'near'. Known: identical, writing, known, answers.",
        ),
        (["--since", "yesterday"], "--since 'yesterday': give a date such as"),
        (["--since", "2026-13-01"], "give a date such as"),
        (["--reason", "boredom"], "There is no reason 'boredom'. Known: user_cancelled"),
        (["--user", "nobody"], "There is no user 'nobody'"),
        (["0badc0de"], "There is no run '0badc0de'"),
        (["0badc0de", "--user", "ada"], "Name runs, or filter them, not both."),
        (["--traces", "no/such/file.jsonl"], "cannot be read: No such file or directory"),
        (["--traces", "no/such/file.jsonl.gz"], "cannot be read: No such file or directory"),
        (["--traces", "."], "cannot be read: Is a directory"),
        (["--traces", "x.jsonl", "--reason", "timeout"], "name no runs, and no filter"),
        (["--traces", "x.jsonl", "0badc0de"], "name no runs, and no filter"),
    ],
)
def test_bad_values_are_refused_with_words(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError) as refused:
        said(*arguments)
    assert message in str(refused.value)


GOOD = trace("fine", *"abc")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([GOOD, "garbage", GOOD], "line 2: not JSON"),
        ([GOOD, "", "[1]", GOOD], "line 3: "),
        ([GOOD, "{}"], "line 2: 'turns' is missing"),
        ([GOOD, '{"id": "x", "turns": [{"calls": [{}]}]}'], "line 2: 'name' is missing"),
        (
            ["garbage"] * 7,
            "line 5: not JSON (Expecting value: line 1 column 1 (char 0)); and 2 more",
        ),
        ([GOOD, "[" * 100_000], "line 2: not JSON"),
        ([GOOD, trace("x", "a", label="stuck")], "line 2: a stuck run needs a whole number"),
        ([""], "holds no runs"),
    ],
)
def test_a_line_that_is_no_run_is_named(tmp_path: Path, content: list[str], message: str) -> None:
    with pytest.raises(CommandError) as refused:
        said("--traces", file_of(tmp_path, *content))
    assert message in str(refused.value)


def test_a_file_that_is_cut_off_or_no_text_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress("\n".join([GOOD] * 50).encode())
    plain = GOOD.encode()
    flipped = bytes([*whole[:20], *(byte ^ 255 for byte in whole[20:40]), *whole[40:]])
    for data, name, message in (
        (whole[:-20], "cut.jsonl.gz", "its end is missing"),
        (plain, "plain.jsonl.gz", "cannot be read: Not a gzipped file"),
        (flipped, "flipped.jsonl.gz", "cannot be"),
        (b"\xff\xfe\x00", "binary.jsonl", "is not text in UTF-8"),
        (plain[:-20], "cut.jsonl", "line 1: not JSON"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CommandError, match=message):
            said("--traces", str(tmp_path / name))


@pytest.mark.ci
def test_an_error_is_one_line_and_exit_1(tmp_path: Path) -> None:
    refused = subprocess.run(
        [sys.executable, "manage.py", "replay", "--traces", file_of(tmp_path, GOOD, "garbage")],
        cwd=ROOT,
        env={**os.environ, "ORACLE_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 1
    assert (refused.stdout, len(refused.stderr.splitlines())) == ("", 1)
    assert "line 2: not JSON" in refused.stderr


# -- a rule ---------------------------------------------------------------------------------------

FOUR_LOOKS = """\
[rule]
id = "stop-after-four"
trigger = "on_turn_end"
once = true

[condition]
expression = "history.calls.look >= 3"

[[action]]
type = "stop"
message = "It has looked often enough."
"""


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    path = tmp_path / "rule.toml"
    path.write_text(FOUR_LOOKS)
    return path


def test_a_rule_is_tried_on_stored_runs(rule: Path) -> None:
    run = stored(FIVE_TURNS)
    stored(STUCK)
    output = said("--rule", str(rule))
    assert (
        "2 runs tried. stop-after-four would have fired in 1 of them, 1 time in all.\n"
        "It would have ended 1 run early, 1 of which completed.\n"
    ) in output
    assert count(output, "iteration 3") == 1
    assert count(output, "stop: It has looked often enough.") == 1
    assert count(output, "history.calls.look >= 3") == 1
    assert "1  The rule would have ended the run" in output
    assert f"{run.pk}  completed, iteration 3: stop: It has looked often enough." in output


def test_trials_of_a_rule_are_written_as_json(rule: Path) -> None:
    run = stored(FIVE_TURNS)
    first, summary = lines("--rule", str(rule), str(run.pk))
    (firing,) = first["firings"]
    assert (first["id"], first["stopped_at"], first["was_cut"]) == (str(run.pk), 3, True)
    assert (firing["event"], firing["turn"]) == ("turn.end", 3)
    assert firing["effects"] == [{"type": "stop", "words": "It has looked often enough."}]
    assert (summary["rule"], summary["fired"], summary["cut"]) == ("stop-after-four", 1, 1)


def test_runs_for_a_rule_are_filtered_as_for_limits(rule: Path) -> None:
    stored(FIVE_TURNS)
    stored(STUCK)
    assert "1 run tried. " in said("--rule", str(rule), "--reason", "no_progress")


def test_what_is_wrong_with_a_rule_is_told_line_by_line(rule: Path) -> None:
    rule.write_text(FOUR_LOOKS.replace("on_turn_end", "on_turn_ende").replace("calls", "cals"))
    told = StringIO()
    with pytest.raises(CommandError, match=r"rule\.toml is not a rule\.") as caught:
        call_command("replay", "--rule", str(rule), stderr=told)
    assert caught.value.returncode == 1
    places = [line.split(": ")[0] for line in told.getvalue().splitlines()]
    assert places == ["3:11", "7:15"]


def test_a_rule_may_begin_with_the_mark_that_some_editors_write(rule: Path) -> None:
    rule.write_text(FOUR_LOOKS, encoding="utf-8-sig")
    assert "0 runs tried. " in said("--rule", str(rule))


@pytest.mark.parametrize("data", [None, b"\xff\xfe", b"x" * 10_000_000])
def test_a_file_that_is_no_rule_is_one_clear_line(rule: Path, data: bytes | None) -> None:
    rule.unlink() if data is None else rule.write_bytes(data)
    with pytest.raises(CommandError, match=r"rule\.toml (is not a rule|cannot be read)"):
        call_command("replay", "--rule", str(rule), stderr=StringIO())


@pytest.mark.parametrize(
    "more",
    [["--tree", "quick"], ["--set", "max_iterations=3"], ["--behaviour", "oracle-agent"]],
)
def test_a_rule_is_tried_by_itself(rule: Path, more: list[str]) -> None:
    with pytest.raises(CommandError, match="A rule is tried by itself"):
        said("--rule", str(rule), *more)


# -- another behaviour ----------------------------------------------------------------------------


def test_runs_are_replayed_under_another_behaviour() -> None:
    stored(FIVE_TURNS)
    stored(STUCK)
    assert count(said("--behaviour", "oracle-agent"), "as they did") == 2
    assert count(said("--behaviour", "oracle-agent", "--set", "max_iterations=3"), "earlier") == 2
    output = said("--behaviour", "plan-then-do", "--reason", "completed")
    assert count(output, "not known") == 1
    assert "At that point it tells the model something that this run did not." in output
    *_, summary = lines("--behaviour", "plan-then-do")
    assert summary["kinds"]["unknown"] == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--behaviour", "no-such"], "There is no behaviour 'no-such'. Known: .*oracle-agent"),
        (["--behaviour", "oracle-agent", "--tree", "quick"], "names its decision tree"),
        (["--behaviour", "oracle-agent", "--traces", "x.jsonl"], "no traces"),
    ],
)
def test_what_cannot_be_a_behaviour_is_one_clear_line(more: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        said(*more)
