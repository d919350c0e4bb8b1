"""Bars without a style attribute: numbers that a browser reads in every language."""

from agents.core.reasons import REASONS
from agents.web.charts import HEIGHT, BarSegment, horizontal_bar, layered_chart, stacked_chart
from agents.web.reason_labels import RUNNING, assign_looks, reason_look


def test_the_highest_stack_fills_the_chart_and_parts_touch() -> None:
    low, high = (
        [BarSegment(1, "a", "one")],
        [BarSegment(3, "a", "three"), BarSegment(1, "b", "one more")],
    )
    chart = stacked_chart([low, high], "then", "now")
    assert (chart.top, chart.columns, chart.view_box) == (4, 2, f"0 0 2 {HEIGHT}")
    assert [(bar.x, bar.y, bar.height) for bar in chart.bars] == [
        ("0.1", "75", "25"),
        ("1.1", "25", "75"),
        ("1.1", "0", "25"),
    ]


def test_nothing_makes_no_bar_and_no_fault() -> None:
    assert stacked_chart([], "", "").bars == []
    assert stacked_chart([[], [BarSegment(0, "a", "none")]], "", "").bars == []


def test_every_reason_has_a_pattern_of_its_own_in_the_colour_of_its_outcome() -> None:
    looks = [reason_look(code) for code, _ in REASONS]
    assert [look.css_class for look in looks] == [reason.outcome for _, reason in REASONS]
    looks += [reason_look(RUNNING), reason_look("of a package that is gone")]
    assert len({(look.strokes, look.width) for look in looks}) == len(looks)
    assert len({look.pattern for look in looks}) == len(looks)
    assert reason_look("completed").strokes == ""


def test_forty_reasons_of_one_outcome_have_different_patterns() -> None:
    looks = assign_looks(dict.fromkeys(map(str, range(40)), "limited")).values()
    assert len({(look.strokes, look.width) for look in looks}) == 40


def test_many_bars_are_one_shape_for_each_look_under_titles_of_columns() -> None:
    halves = BarSegment(1, "b", ""), BarSegment(1, "b", "", "dots")
    columns = [[BarSegment(2, "a", "")], [BarSegment(2, "a", ""), *halves]]
    chart = layered_chart(columns, ["then: 1", "now: 2"], "then", "now")
    assert [(layer.css_class, layer.pattern, layer.path) for layer in chart.layers] == [
        ("a", "", "M0.1 50h0.8v50h-0.8zM1.1 50h0.8v50h-0.8z"),
        ("b", "", "M1.1 25h0.8v25h-0.8z"),
        ("b", "dots", "M1.1 0h0.8v25h-0.8z"),
    ]
    assert [(bar.x, bar.css_class, bar.title) for bar in chart.bars] == [
        ("0", "column", "then: 1"),
        ("1", "column", "now: 2"),
    ]


def test_a_lying_bar_is_as_long_as_its_whole() -> None:
    bars = horizontal_bar(
        [BarSegment(1, "a", ""), BarSegment(0, "b", ""), BarSegment(3, "c", "")], 4
    )
    assert [(bar.css_class, bar.x, bar.width) for bar in bars] == [
        ("a", "0", "25"),
        ("c", "25", "75"),
    ]
    assert horizontal_bar([BarSegment(1, "a", "")], 0) == []
