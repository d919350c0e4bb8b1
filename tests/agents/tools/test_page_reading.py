"""A page as text, whatever kind of text it is."""

import pytest

from agents.tools.page_reading import FetchedPage, parse_content_type, read_page
from agents.tools.page_text import PageText

URL = "https://docs.example/"


def read(body: str, declared: str) -> PageText:
    return read_page(FetchedPage(URL, declared, body.encode()))


def test_html_is_read_as_markdown_and_the_rest_as_it_is() -> None:
    assert read("<title>T</title><p>a <b>b</b>", "text/html") == PageText("T", "a b")
    assert read("# T\n<b>", "text/markdown; charset=utf-8") == PageText("T", "# T\n<b>")


def test_what_nobody_sees_goes_and_lines_are_those_that_all_count() -> None:
    assert read("a\rb\x0b \r\nc\u2028d\x1b\n", "text/plain").text == "a\nb\nc\nd"


@pytest.mark.parametrize(
    ("declared", "kind"),
    [("Text/HTML; charset=x", "text/html"), ("text/plain", "text/plain"), ("", ""), ("x y", "")],
)
def test_the_kind_of_a_page_is_what_stands_before_its_parameters(declared: str, kind: str) -> None:
    assert parse_content_type(declared) == kind
