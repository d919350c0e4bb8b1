"""Trees without rows: every tree there is, up to a size."""

from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from chat.conversations.tree_shape import Node, TreeShape

Drawn = tuple[TreeShape, UUID]


@st.composite
def trees(draw: st.DrawFn) -> Drawn:
    """A tree of up to 20 nodes, oldest first, and its HEAD."""
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, 20))):
        parent = draw(st.sampled_from([None, *(node.id for node in nodes)]))
        nodes.append(Node(uuid4(), parent, is_protected=draw(st.booleans())))
    return TreeShape(nodes), draw(st.sampled_from(nodes)).id


def above(shape: TreeShape, node: UUID) -> list[UUID]:
    return shape.path(node)[:-1]


@given(trees())
def test_a_path_goes_from_a_first_question_down_to_head(drawn: Drawn) -> None:
    shape, head = drawn
    path = shape.path(head)
    assert path[-1] == head
    assert [shape.nodes[node].parent for node in path] == [None, *path[:-1]]


@given(trees())
def test_a_walk_meets_every_node_once_and_after_its_parent(drawn: Drawn) -> None:
    shape, _ = drawn
    met = [node for node, _ in shape.walk()]
    assert sorted(met) == sorted(shape.nodes)
    for node in met:
        assert all(met.index(other) < met.index(node) for other in above(shape, node))


@given(trees())
def test_depth_is_the_number_of_forks_above(drawn: Drawn) -> None:
    shape, _ = drawn
    for node, depth in shape.walk():
        forks = [None, *above(shape, node)]
        assert depth == sum(len(shape.children[fork]) > 1 for fork in forks)


@given(trees())
def test_the_newest_leaf_is_below_and_has_nothing_below_it(drawn: Drawn) -> None:
    shape, top = drawn
    order = list(shape.nodes)
    leaf = shape.newest_leaf(top)
    assert top in shape.path(leaf)
    assert leaf not in shape.children
    leaves = [n for n in order if n not in shape.children and top in shape.path(n)]
    assert leaf == leaves[-1]


@given(trees())
def test_pruning_takes_everything_it_may_and_nothing_else(drawn: Drawn) -> None:
    shape, head = drawn
    gone = set(shape.find_prunable(head))
    path = set(shape.path(head))
    for pk, node in shape.nodes.items():
        below = [other for other, _ in shape.walk(pk)]
        must_stay = node.parent is None or any(
            shape.nodes[other].is_protected or other in path for other in below
        )
        assert (pk in gone) is not must_stay


@given(trees())
def test_pruning_below_a_node_takes_what_is_there_of_what_may_go(drawn: Drawn) -> None:
    shape, head = drawn
    for top in shape.nodes:
        below = {node for node, _ in shape.walk(top)}
        assert set(shape.find_prunable(head, top)) == below & set(shape.find_prunable(head))


def test_a_leaf_is_the_newest_also_when_clocks_went_back() -> None:
    top, leaf = uuid4(), uuid4()
    assert TreeShape([Node(leaf, top), Node(top, None)]).newest_leaf(top) == leaf


def test_there_is_no_path_to_what_is_not_there() -> None:
    assert TreeShape([Node(uuid4(), None)]).path(uuid4()) == []
    assert TreeShape([]).path(None) == []


def test_a_tree_may_be_deeper_than_python_recurses() -> None:
    ids = [uuid4() for _ in range(5_000)]
    parents = [None, *ids[:-1]]
    shape = TreeShape(Node(pk, parent) for pk, parent in zip(ids, parents, strict=True))
    assert shape.path(ids[-1]) == ids
    assert [node for node, _ in shape.walk()] == ids
    assert shape.newest_leaf(ids[0]) == ids[-1]
    assert shape.find_prunable(ids[0]) == ids[1:]
