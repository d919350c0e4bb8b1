"""The way through a behaviour, as decisions record it."""

from agents.core.behaviours import BehaviourNode, read_behaviour
from agents.core.behaviours.path import MAX_PATH_LENGTH, PathRecorder

NODES = {
    node.number: node for node in read_behaviour('(tree "a" (sequence (succeed) (fail)))').walk()
}


def visit(path: PathRecorder, node: BehaviourNode, succeeded: bool | None) -> None:
    path.enter(node)
    path.leave(node, succeeded)


def test_a_path_has_what_was_left_since_it_was_last_taken() -> None:
    path = PathRecorder()
    path.enter(NODES[1])
    visit(path, NODES[2], True)
    assert path.take() == "2+"
    visit(path, NODES[3], False)
    path.leave(NODES[1], False)
    assert path.take() == "3- 1-"
    assert path.take() == ""


def test_what_is_open_when_the_run_halts_is_halted_once() -> None:
    path = PathRecorder()
    path.enter(NODES[1])
    path.enter(NODES[2])
    assert path.take(halts=True) == "2! 1!"
    path.leave(NODES[2], None)
    path.leave(NODES[1], None)
    assert path.take(halts=True) == ""


def test_a_behaviour_that_failed_leaves_its_open_nodes_to_the_next_decision() -> None:
    path = PathRecorder()
    path.enter(NODES[1])
    path.leave(NODES[1], None)
    assert path.take() == "1!"


def test_a_long_path_keeps_its_end() -> None:
    path = PathRecorder()
    for _ in range(MAX_PATH_LENGTH):
        visit(path, NODES[2], True)
    visit(path, NODES[3], False)
    taken = path.take()
    assert len(taken) <= MAX_PATH_LENGTH + 2
    assert taken.startswith("… 2+ ")
    assert taken.endswith(" 3-")
