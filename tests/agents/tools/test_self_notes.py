"""The tool by which a model writes a note to itself."""

import pytest

from agents.core.notify.self_notes import MAX_NOTES
from agents.tools.definition import ToolFailed, ToolRefused
from agents.tools.registry import TOOLS
from agents.tools.self_notes import NoteCount, notify_self
from tests.support.virtual import virtual_time


@virtual_time
async def test_a_note_says_when_it_will_be_told() -> None:
    count = NoteCount()
    told = await notify_self("Check it.", count, "after_tool:vault_read")
    assert told == "Noted: you will be told (after_tool:vault_read)."
    kept = await notify_self("Check it.", count, keep=True)
    assert kept.endswith("it is kept, if the user allows that.")


@virtual_time
async def test_what_is_no_moment_is_told_with_what_is() -> None:
    count = NoteCount()
    for _ in range(10):
        with pytest.raises(ToolFailed, match=r"at character \d+: .* did you mean 'context_usage'"):
            await notify_self("Check it.", count, "turn.context_usag > 0.7")
    assert await notify_self("Check it.", count)


@virtual_time
async def test_a_tool_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    count = NoteCount()
    for _ in range(10):
        with pytest.raises(ToolFailed, match="no tool 'vault_reed'; did you mean 'vault_read'"):
            await notify_self("Check it.", count, "after_tool:vault_reed")
    assert await notify_self("Check it.", count, "after_tool: vault_read")


@virtual_time
async def test_a_run_may_write_only_so_many() -> None:
    count = NoteCount()
    for _ in range(MAX_NOTES):
        await notify_self("Check it.", count)
    with pytest.raises(ToolRefused, match="a run may have no more"):
        await notify_self("Check it.", count)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"message": ""}, {"message": "x" * 301}, {"message": "x", "keep": "perhaps"},
     {"message": "x", "priority": "critical"}, {"message": "x", "category": "c" * 41}],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ToolFailed, match="do not fit"):
        TOOLS.get("notify_self").validate(arguments)
