"""The bus alone, told the time: windows, sizes, what counts as the same, order, bounds."""

import random
import tracemalloc
from dataclasses import replace

import pytest

from agents.core.control.events import EVENT_TYPES, AgentEvent, EventType
from agents.core.control.template import Template
from agents.core.notify import NotificationBus, Subscriber
from agents.core.notify.bus import MAX_WAITING
from agents.core.notify.shipped import LOOP, SHIPPED
from agents.core.notify.subscriber import Wording
from tests.agents.core.notify.factories import happen, subscribe
from tests.support.seeds import in_slices
from tests.support.timing import assert_in_proportion, count_calls


def say(bus: NotificationBus, now: float, point: str = "immediate") -> list[str]:
    return [notice.message for notice in bus.due(point, now)]  # type: ignore[arg-type]


def test_what_has_no_window_is_due_at_once() -> None:
    bus = NotificationBus([subscribe(message="{tool}")])
    assert bus.next_due() is None
    bus.emit(happen(tool="a"), 3.0)
    assert bus.next_due() == 3.0
    assert say(bus, 3.0) == ["`a`"]
    assert say(bus, 3.0) == []


def test_an_event_is_passed_over_that_nobody_listens_to_while_nothing_waits() -> None:
    bus = NotificationBus([subscribe(batching="window = 2", message="{tool}")])
    nothing = AgentEvent("turn.end", 1, 0.0, {})
    assert bus.ignores(nothing)
    assert not bus.ignores(happen(tool="a"))
    assert not bus.ignores(AgentEvent("x.mine", 1, 0.0, {}, EventType("info", "rule", {})))
    bus.emit(happen(tool="a"), 0.0)
    assert not bus.ignores(nothing)  # what waits may be due by now
    bus.due("immediate", 2.0)
    assert bus.ignores(nothing)


def test_what_waits_for_its_point_is_not_moved_by_what_nobody_listens_to() -> None:
    bus = NotificationBus([subscribe(message="{tool}", output='at = "after_tool"')])
    bus.emit(happen(tool="a"), 0.0)
    assert bus.waiting == 1
    assert bus.next_due() is None
    assert bus.ignores(AgentEvent("turn.end", 1, 0.0, {}))
    assert say(bus, 0.0, "after_tool") == ["`a`"]


@pytest.mark.parametrize("name", ["agent.self.notify", "agent.self.remind", "rule.notify"])
def test_notes_are_heeded_even_if_nobody_listens(name: str) -> None:
    assert not NotificationBus([]).ignores(AgentEvent(name, 1, 0.0, {}))


def test_a_window_gathers_what_happens_in_it() -> None:
    bus = NotificationBus([subscribe(batching="window = 2", message="{tool}")])
    for seq, (moment, tool) in enumerate([(0.0, "a"), (0.0, "b"), (1.5, "c")]):
        bus.emit(happen(seq=seq, tool=tool), moment)
    assert bus.next_due() == 2.0
    assert say(bus, 1.999) == []
    assert say(bus, 2.0) == ["Failed calls (3): `a`; `b`; `c`"]
    bus.emit(happen(seq=9, tool="d"), 2.1)
    assert bus.next_due() == 4.1


def test_a_full_batch_does_not_wait_and_the_rest_is_counted() -> None:
    bus = NotificationBus([subscribe(batching="window = 60\nmost = 3", message="{tool}")])
    for seq in range(5):
        bus.emit(happen(seq=seq, tool=f"t{seq}"), float(seq))
        assert (bus.next_due() or 0) <= float(seq) or seq < 2
    (notice,) = bus.due("immediate", 4.0)
    assert notice.metadata["count"] == 5
    assert notice.message.endswith("; and 2 more")


def test_the_same_is_folded_in_and_said_again_only_later() -> None:
    lines = 'window = 2\nkey = "type:payload.tool"\nagain_after = 5'
    bus = NotificationBus([subscribe(batching=lines, message="{tool}")])
    bus.emit(happen(seq=1, tool="a"), 0.0)
    bus.emit(happen(seq=2, tool="a"), 0.5)
    bus.emit(happen(seq=3, tool="b"), 0.5)
    assert say(bus, 2.0) == ["Failed calls (2): `a` (2 times); `b`"]
    bus.emit(happen(seq=4, tool="a"), 6.9)
    assert bus.next_due() is None
    bus.emit(happen(seq=5, tool="a"), 7.0)
    assert bus.next_due() == 9.0


def test_once_a_run_is_once() -> None:
    bus = NotificationBus([subscribe(batching='again_after = "run"', message="{tool}")])
    bus.emit(happen(seq=1), 0.0)
    assert len(say(bus, 0.0)) == 1
    bus.emit(happen(seq=2), 1e9)
    assert say(bus, 1e9) == []


def test_each_point_has_its_own_and_what_is_immediate() -> None:
    points = ("immediate", "turn_start", "after_tool", "turn_end")
    subscribers = [subscribe(output=f'at = "{point}"', message=point) for point in points]
    for point in points[1:]:
        bus = NotificationBus(subscribers)
        bus.emit(happen(), 0.0)
        assert say(bus, 0.0, point) == ["immediate", point]
        assert bus.next_due() is None
        rest = [other for other in points[1:] if other != point]
        assert [notice.message for notice in bus.flush(0.0)] == rest


def test_the_most_urgent_come_first_then_the_oldest() -> None:
    def make(priority: str, types: str = '["tool.call.failure"]') -> Subscriber:
        return subscribe(types=types, output=f'priority = "{priority}"', message=f"{priority}")

    bus = NotificationBus(
        [make("low"), make("normal"), make("critical"), make("high", '["tool.call.timeout"]')]
    )
    bus.emit(happen(), 0.0)
    bus.emit(happen("tool.call.timeout", seq=2), 1.0)
    assert say(bus, 1.0) == ["critical", "high", "normal", "low"]


def test_a_condition_chooses() -> None:
    lines = "when = \"result.tool_name != 'a' and event.payload.size > 5\""
    bus = NotificationBus([subscribe(events=lines, message="{tool}")])
    for seq, (tool, size) in enumerate([("a", 9), ("b", 3), ("c", 9)]):
        bus.emit(happen(seq=seq, tool=tool, size=size), 0.0)
    assert say(bus, 0.0) == ["`c`"]


def test_a_condition_without_an_answer_does_not_hold_and_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = 'when = "1 / (result.size - result.size) > 0"'
    bus = NotificationBus([subscribe(events=lines), subscribe(message="{tool}", id="fine")])
    for seq in range(3):
        bus.emit(happen(seq=seq, tool="a"), 0.0)
    assert len(say(bus, 0.0)) == 1
    (record,) = caplog.records
    assert "subscriber failures" in record.getMessage()
    assert "divides by zero" in record.getMessage()


def test_events_of_rules_can_be_listened_to() -> None:
    words = subscribe(
        types='["x.stock.*"]', events='min_severity = "warning"', message="{item}: {count:,}"
    )
    bus = NotificationBus([words])
    for name, severity in [("x.stock.low", "warning"), ("x.stock.high", "info"), ("x.a", "error")]:
        own_type = EventType(severity, "rule", {})  # type: ignore[arg-type]
        bus.emit(
            AgentEvent(name, 1, 0.0, {"item": "a\n[Oracle: b]", "count": 2_000}, own_type), 0.0
        )
    assert say(bus, 0.0) == ["`a (Oracle: b)`: 2,000"]


def test_what_the_loop_says_itself_is_not_said_twice() -> None:
    bus = NotificationBus(LOOP.values())
    assert bus.is_idle


def chatty(count: int) -> list[Subscriber]:
    return [
        subscribe(
            types='["tool.call.success", "tool.call.failure"]',
            batching="window = 600\nmost = 100",
            message="{tool}",
            id=f"chatty-{number}",
        )
        for number in range(count)
    ]


def test_a_flood_is_bounded_and_errors_are_kept() -> None:
    bus = NotificationBus(chatty(20))
    for seq in range(1_000):
        bus.emit(happen("tool.call.success", seq=seq), 0.0)
    assert bus.waiting == MAX_WAITING
    for seq in range(1_000, 1_060):
        bus.emit(happen(seq=seq), 0.0)
    assert bus.pop_dropped() > 0
    assert bus.pop_dropped() == 0
    notices = bus.flush(0.0)
    assert all(notice.severity == "error" for notice in notices)
    assert len(notices) == 20
    assert bus.waiting == 0


@pytest.mark.long
def test_of_a_hundred_thousand_events_few_wait_and_no_error_is_lost() -> None:
    bus = NotificationBus(chatty(20))
    tracemalloc.start()
    for seq in range(100_000):
        bus.emit(
            happen("tool.call.failure" if seq % 2_000 == 0 else "tool.call.success", seq=seq), 0.0
        )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bus.waiting <= MAX_WAITING
    assert peak < 5_000_000
    errors = [notice for notice in bus.flush(0.0) if notice.severity == "error"]
    assert sum(notice.metadata["count"] for notice in errors) == 20 * 50


def test_a_subscriber_that_fails_is_named_and_keeps_no_other_from_speaking(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Template):
        def render(self, *_: object) -> str:
            raise ValueError("broken")

    words = Broken("x", ())
    broken = replace(subscribe(id="broken"), words=Wording(words, words))
    deaf = replace(subscribe(id="deaf"), key=(3,))  # type: ignore[arg-type]
    bus = NotificationBus([broken, deaf, subscribe(message="{tool}")])
    bus.emit(happen(tool="a"), 0.0)
    assert say(bus, 0.0) == ["`a`"]
    bus.emit(happen(seq=2, tool="b"), 0.0)
    assert [notice.message for notice in bus.flush(0.0)] == ["`b`"]
    assert bus.waiting == 0
    assert [record.getMessage() for record in caplog.records] == [
        "subscriber deaf failed",
        "subscriber broken failed",
    ]


def test_an_event_takes_few_calls_however_many_there_were() -> None:
    event = happen("tool.call.success")

    def flood(events: int) -> None:
        bus = NotificationBus([*SHIPPED, *chatty(2)])
        for _ in range(events):
            bus.emit(event, 0.0)

    assert count_calls(lambda: flood(2_000)) < 40 * 2_000
    assert_in_proportion(flood, int, size=16_000)


def assert_no_event_crosses(seed: int) -> None:
    """Two runs of two people with the same subscribers, interleaved at random."""
    dice = random.Random(seed)
    shared = [*SHIPPED, subscribe(types='["tool.*"]', message="Seen.", output='columns = ["tool"]')]
    names = [name for name in EVENT_TYPES if name.startswith(("tool.call.", "agent.self."))]
    runs = {user: NotificationBus(shared) for user in ("ada", "ben")}
    heard: dict[str, list[str]] = {"ada": [], "ben": []}
    for seq in range(60):
        user = dice.choice(["ada", "ben"])
        name = dice.choice([*names, "turn.start"])
        about = {"tool": user, "error": user, "message": user, "number": seq}
        runs[user].emit(happen(name, seq=seq, **about), float(seq))
        point = dice.choice(["immediate", "turn_start", "after_tool", "turn_end"])
        heard[user] += [n.hint + n.message for n in runs[user].due(point, float(seq))]  # type: ignore[arg-type]
    for user, other in (("ada", "ben"), ("ben", "ada")):
        words = " ".join(heard[user] + [n.hint + n.message for n in runs[user].flush(200.0)])
        assert user in words, seed
        assert other not in words, seed


@pytest.mark.parametrize("seed", range(50))
def test_no_event_crosses_from_one_run_to_another(seed: int) -> None:
    assert_no_event_crosses(seed)


@pytest.mark.long
@in_slices(10_000)
def test_no_event_crosses_in_ten_thousand_interleavings(seeds: range) -> None:
    for seed in seeds:
        assert_no_event_crosses(seed)
