"""Which tools a request offers: those that are not withheld, and how long they are."""

from agents.core.loop.offered_tools import OfferedTools
from agents.core.tokens import schema_chars
from tests.support.tools import FakeTools, returns


def test_what_is_withheld_is_neither_offered_nor_measured() -> None:
    tools = FakeTools({"look": returns("so"), "write": returns("done")})
    offered = OfferedTools(tools)
    look, write = tools.schemas()
    assert offered.list(frozenset()) == (look, write)
    assert offered.list(frozenset({"write"})) == (look,)
    assert offered.measure(frozenset({"write"})) == schema_chars([look])
    assert offered.measure(frozenset()) == schema_chars([look, write])


def test_a_set_that_grows_is_looked_at_anew() -> None:
    tools = FakeTools({"look": returns("so"), "write": returns("done")})
    offered, withheld = OfferedTools(tools), set[str]()
    assert len(offered.list(withheld)) == 2
    withheld.add("write")
    assert len(offered.list(withheld)) == 1
