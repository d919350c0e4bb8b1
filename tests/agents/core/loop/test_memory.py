"""What a run holds in memory: it is let go of when the run is over, by nobody but the run."""

import gc
from collections.abc import Iterator

import pytest

from agents.core.behaviours import Behaviour, read_behaviour
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.loop import Control
from agents.core.notify.shipped import SHIPPED
from agents.core.rules.shipped import load_shipped_rules
from tests.agents.core.factories import done, play
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, returns

OWN = read_behaviour(load_shipped_texts()["oracle-agent"])
RULES = load_shipped_rules()


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """Have the collector keep what it finds, and find nothing before it is asked."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize("behaviour", [None, OWN], ids=["site", "own"])
@pytest.mark.parametrize("is_full", [False, True], ids=["plain", "everything"])
async def test_a_run_that_is_over_leaves_nothing_to_the_collector(
    garbage: list[object], behaviour: Behaviour | None, is_full: bool
) -> None:
    control = Control(behaviour=behaviour)
    if is_full:
        control = Control(behaviour=behaviour, subscribers=SHIPPED, rules=RULES)
    script = ScriptedModel([call("look", n=1), call("look", n=2), say("So.")])
    chunks = await play(script, FakeTools({"look": returns("found")}), control=control)
    assert done(chunks).termination_reason == "completed"
    del script, control
    gc.collect()
    ours = {type(one).__qualname__ for one in garbage if type(one).__module__.startswith("agents.")}
    assert ours == set()
