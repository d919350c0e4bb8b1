"""Bars without a style attribute: numbers that a browser reads in every language."""

from settings_ui.charts import HEIGHT, Part, stacked, tones


def test_the_highest_stack_fills_the_chart_and_parts_touch() -> None:
    low, high = [Part(1, "a", "one")], [Part(3, "a", "three"), Part(1, "b", "one more")]
    chart = stacked([low, high], "then", "now")
    assert (chart.top, chart.columns, chart.view_box) == (4, 2, f"0 0 2 {HEIGHT}")
    assert [(bar.x, bar.y, bar.height) for bar in chart.bars] == [
        ("0.1", "75", "25"),
        ("1.1", "25", "75"),
        ("1.1", "0", "25"),
    ]


def test_nothing_makes_no_bar_and_no_fault() -> None:
    assert stacked([], "", "").bars == []
    assert stacked([[], [Part(0, "a", "none")]], "", "").bars == []


def test_members_of_a_group_get_paler_one_by_one() -> None:
    groups = dict.fromkeys(["a", "b", "c", "d", "e"], "limited")
    assert [tone[-1] for tone in tones(groups).values()] == ["1", "2", "3", "4", "4"]
