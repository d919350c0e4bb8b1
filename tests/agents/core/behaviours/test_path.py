"""The way through a behaviour, as decisions record it."""

from agents.core.behaviours.path import MAX_PATH_LENGTH, PathRecorder, add_reason


def test_a_path_has_what_was_left_since_it_was_last_taken() -> None:
    path = PathRecorder()
    path.note("2+")
    assert path.take() == "2+"
    path.note("3-")
    path.note("1-")
    assert path.take() == "3- 1-"
    assert path.take() == ""


def test_what_is_open_when_the_run_halts_is_halted_once() -> None:
    path = PathRecorder()
    path.note("4+")
    path.write_open = lambda: "2! 1!"
    assert path.take(halts=True) == "4+ 2! 1!"
    path.note("2! 1!")
    assert path.take(halts=True) == ""


def test_a_behaviour_that_failed_leaves_its_open_nodes_to_the_next_decision() -> None:
    path = PathRecorder()
    path.note("1!")
    assert path.take() == "1!"


def test_a_long_path_keeps_its_end() -> None:
    path = PathRecorder()
    for _ in range(MAX_PATH_LENGTH):
        path.note("2+")
    path.note("3-")
    taken = path.take()
    assert len(taken) <= MAX_PATH_LENGTH + 2
    assert taken.startswith("… 2+ ")
    assert taken.endswith(" 3-")


def test_the_reason_of_a_failure_stands_with_the_node_that_failed() -> None:
    assert add_reason("6- 5- 1-", "kind") == "6-kind 5- 1-"
    assert add_reason("6-", "kind") == "6-kind"
