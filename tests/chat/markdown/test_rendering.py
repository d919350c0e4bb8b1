"""What Markdown becomes."""

import pytest

from chat.markdown import render
from tests.support.dom import read

REL = 'rel="noopener noreferrer nofollow"'


def one(text: str, **how: object) -> str:
    """The HTML of the only block."""
    (block,) = render(text, **how)  # type: ignore[arg-type]
    return block.strip()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*a* **b** ~~c~~ `d`", "<p><em>a</em> <strong>b</strong> <s>c</s> <code>d</code></p>"),
        ("# a", "<h3>a</h3>"),
        ("## a", "<h3>a</h3>"),
        ("a\n=", "<h3>a</h3>"),
        ("a  \nb\\\nc", "<p>a<br>\nb<br>\nc</p>"),
        ("***", "<hr>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("<b>&amp;", "<p>&lt;b&gt;&amp;</p>"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
    ],
)
def test_common_markdown_is_known(text: str, html: str) -> None:
    assert one(text) == html


def test_tasks_have_a_character_and_no_field() -> None:
    html = one("- [x] done\n- [ ] open\n- [y] text")
    assert html == (
        '<ul>\n<li class="task">☑ done</li>\n<li class="task">☐ open</li>\n<li>[y] text</li>\n</ul>'
    )


def test_tables_align_without_a_style() -> None:
    html = one("|a|b|c|d|\n|-|:-|:-:|-:|\n|1|2|3|4|")
    assert html.startswith('<div class="table" tabindex="0"><table>')
    cells = [e.attributes for e in read(html).walk() if e.tag == "td"]
    assert cells == [{}, {"class": "left"}, {"class": "center"}, {"class": "right"}]


# -- links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["https://a.example/?b=1", "HTTP://a.example", "//a.example/b"])
def test_links_to_other_sites_open_beside_the_chat(url: str) -> None:
    html = one(f'[a]({url} "a title")')
    assert html == f'<p><a href="{url}" target="_blank" {REL}>a</a></p>'


@pytest.mark.parametrize("url", ["/library/", "notes/a.md", "#top", "?q=1", "mailto:a@b.example"])
def test_links_within_the_site_and_to_mail_do_not(url: str) -> None:
    assert one(f"[a]({url})") == f'<p><a href="{url}" {REL}>a</a></p>'


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "VBSCRIPT:x", "ftp:x"])
def test_links_of_other_schemes_stay_text(url: str) -> None:
    assert one(f"[a]({url})") == f"<p>[a]({url})</p>"
    assert "<a" not in one(f"<{url}>")


def test_a_picture_is_a_link_with_its_words() -> None:
    url = "https://a.example/b.png"
    link = f'<a href="{url}" target="_blank" {REL}>'
    assert one(f"![a **b**]({url})") == f"<p>{link}a b</a></p>"
    assert one(f"![]({url})") == f"<p>{link}{url}</a></p>"


def test_a_picture_within_a_link_is_only_its_words() -> None:
    assert one("[![a](b.png)](c)") == f'<p><a href="c" {REL}>a</a></p>'
    assert one("![a]()") == "<p>a</p>"


@pytest.mark.parametrize(
    ("text", "url", "after"),
    [
        ("see https://a.example/b_c_d?e=1#f.", "https://a.example/b_c_d?e=1#f", "."),
        ("(http://a.example/b_(c))", "http://a.example/b_(c)", ")"),
        ("https://a.example/*", "https://a.example/", "*"),
        ("https://a.example**", "https://a.example", "**"),
        ("https://a.example…", "https://a.example", "…"),
        ('"https://a.example"', "https://a.example", '"'),
    ],
)
def test_a_bare_address_is_a_link_without_the_marks_around_it(
    text: str, url: str, after: str
) -> None:
    html = one(text)
    assert f'<a href="{url}" target="_blank" {REL}>{url}</a>{after}</p>' in html


@pytest.mark.parametrize(
    "text", ["`https://a.example`", "https://", "xhttps://a.example", "ftp://a.example", "https:a"]
)
def test_what_only_resembles_an_address_stays_text(text: str) -> None:
    assert "<a" not in one(text)


def test_an_address_within_a_link_is_not_a_second_one() -> None:
    assert one("[https://a.example](/b)").count("<a") == 1


def test_a_definition_stays_to_be_seen_and_followed() -> None:
    text, definition = render("see [b][1] or [1]\n\n[1]: https://a.example")
    assert text == "<p>see [b][1] or [1]</p>\n"
    assert ">https://a.example</a>" in definition


# -- citations ------------------------------------------------------------------------------------


def library(path: str, line: int | None) -> str | None:
    if path.endswith("missing.md"):
        return None
    return f"/library/{path}" + (f"#L{line}" if line else "")


@pytest.mark.parametrize(
    ("text", "href", "words"),
    [
        ("[notes/a.md]", "/library/notes/a.md", "notes/a.md"),
        ("[notes/a b.md:12]", "/library/notes/a%20b.md#L12", "notes/a b.md:12"),
        ("[src/__init__.py:3-9]", "/library/src/__init__.py#L3", "src/__init__.py:3-9"),
        ("[thread]", "/library/thread", "thread"),
    ],
)
def test_a_citation_is_a_link_to_its_source(text: str, href: str, words: str) -> None:
    def address(path: str, line: int | None) -> str | None:
        return (library(path, line) or "").replace(" ", "%20")

    expected = f'<a href="{href}" class="cite" {REL}>{words}</a>'
    assert one(f"so {text}.", link=address) == f"<p>so {expected}.</p>"


def test_each_of_two_citations_is_one() -> None:
    assert one("[a.md][b.md]", link=library).count('class="cite"') == 2


@pytest.mark.parametrize("text", ["[missing.md]", "[a/__missing__/missing.md:3]"])
def test_a_citation_of_no_source_stays_as_it_was_written(text: str) -> None:
    assert one(text, link=library) == f"<p>{text}</p>"
    assert one(text) == f"<p>{text}</p>"


@pytest.mark.parametrize("text", ["[a.md](/b)", "`[a.md]`", "\\[a.md]", "[**a.md**](/b)"])
def test_links_and_code_come_before_citations(text: str) -> None:
    assert "cite" not in one(text, link=library)


def test_a_citation_within_a_link_is_the_link() -> None:
    assert one("[see [a.md]](/b)", link=library) == (
        f'<p>[see <a href="/library/a.md" class="cite" {REL}>a.md</a>](/b)</p>'
    )


def test_an_address_that_is_no_address_is_not_followed() -> None:
    html = one('[a.md] [b"><script>.md]', link=lambda path, line: "javascript:alert(1)")
    assert "href" not in html
    assert "<script" not in html


# -- code -----------------------------------------------------------------------------------------


def test_code_has_a_head_and_colours() -> None:
    assert one("```py\nx = 'a'  # b\n```") == (
        '<div class="code"><div class="code-head">py</div>'
        '<pre tabindex="0"><code class="language-python">'
        'x = <span class="s">\'a\'</span>  <span class="c"># b</span>\n</code></pre></div>'
    )


@pytest.mark.parametrize("info", ["", "unknown", "wenyan", "text"])
def test_code_in_no_language_we_know_is_plain(info: str) -> None:
    assert one(f"```{info}\ndef a\n```") == (
        f'<div class="code"><div class="code-head">{info}</div>'
        '<pre tabindex="0"><code>def a\n</code></pre></div>'
    )


@pytest.mark.parametrize("info", ["JSON", " json ", "json title=x", "json{1,2}"])
def test_a_language_is_the_first_word(info: str) -> None:
    assert 'class="language-json"' in one(f"```{info}\n1\n```")


def test_a_language_is_text() -> None:
    html = one("```<b>\"'onx=\n1\n```")
    assert '<div class="code-head">&lt;b&gt;"\'onx=</div><pre tabindex="0"><code>1' in html


def test_code_that_is_long_or_odd_is_plain() -> None:
    assert "<span" in one("- a\n\n  ```py\n" + "  x = 1\n" * 100)
    assert "<span" not in one("- a\n\n  ```py\n" + "  x = 1234567\n" * 800)
    assert "<span" not in one("```py\nx = 1" + "0" * 500 + "\n```")
    assert "<span" not in one("```py\nx = 1" + "\n" * 50 + "y\n```")


@pytest.mark.parametrize("code", ["\n\na\n\n", "\ta\n", "a\n ", " \n", "\ufeffa\n", "a\x0cb\n"])
def test_a_lexer_does_not_change_the_code(code: str) -> None:
    html = one(f"```py\n{code}\n```")
    assert read(html).elements[0].elements[1].text == code + "\n"


def test_code_in_a_list_is_coloured_too() -> None:
    assert '<span class="k">return</span>' in one("- a\n  ```py\n  return\n  ```")
