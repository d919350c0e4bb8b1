"""HTML that has grown at its end, and HTML that has changed otherwise."""

import pytest

from chat.growth import Growth, growth


@pytest.mark.parametrize(
    ("old", "new", "grown"),
    [
        ("<p>a</p>", "<p>a b</p>", Growth(1, " b")),
        ("<p>a</p>\n", "<p>a b</p>\n", Growth(1, " b")),
        ("<p>x <b>a</b></p>", "<p>x <b>ab</b></p>", Growth(1, "b")),
        ("<p><i>x</i> a</p>", "<p><i>x</i> ab</p>", Growth(2, "b")),
        ("<p>a &amp;</p>", "<p>a &amp; &lt;b</p>", Growth(3, " <b")),
        ("<ul>\n<li>a</li>\n</ul>\n", "<ul>\n<li>ab</li>\n</ul>\n", Growth(1, "b")),
        ("a", "ab", Growth(1, "b")),
        ("", "a", None),
        ("<p></p>", "<p>a</p>", None),
        ("<p> </p>", "<p> a</p>", None),
        ("<p>a</p>", "<p>a</p>", None),
        ("<p>a</p>", "<p>b c</p>", None),
        ("<p>a</p>", "<p>a <b>c</b></p>", None),
        ("<p>a</p>", "<h3>a b</h3>", None),
        ("<p>a <b>x</b></p>", "<p>a <b>x</b> y</p>", None),
        ("<p>a <b>x</b></p>", "<p>a <b>x</b></p><p>y</p>", None),
        ("<p>a<br>", "<p>a<br>b", None),
    ],
)
def test_only_text_at_the_very_end_is_growth(old: str, new: str, grown: Growth | None) -> None:
    assert growth(old, new) == grown
