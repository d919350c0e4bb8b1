"""What the template loader takes out of a source, and what it must not touch."""

from pathlib import Path

import pytest
from django.template import Context, Engine

from agents.web.template_loader import compact

LOADER = "agents.web.template_loader.Loader"
BOTH = pytest.mark.parametrize("is_fragment", [True, False], ids=["fragment", "page"])


def fragment(source: str) -> str:
    return compact(source, is_fragment=True)


@BOTH
@pytest.mark.parametrize(
    ("source", "compacted"),
    [
        ('<a class="x"\n  href="/">y</a>', '<a class="x" href="/">y</a>'),
        ('<a\n  class="x"\n>y</a>', '<a class="x">y</a>'),
        ('<rect x="1"\n  y="2"\n/>', '<rect x="1" y="2"/>'),
        ("<i{% if a > 1 %}\n  hidden{% endif %}></i>", "<i{% if a > 1 %} hidden{% endif %}></i>"),
        ("<a title='{{ a|default:\">\" }}'\n  b>", "<a title='{{ a|default:\">\" }}' b>"),
        ("</a\n>", "</a>"),
    ],
)
def test_a_tag_may_be_broken_between_its_attributes(
    source: str, compacted: str, is_fragment: bool
) -> None:
    assert compact(source, is_fragment=is_fragment) == compacted


@BOTH
@pytest.mark.parametrize(
    ("source", "compacted"),
    [
        ("<b>a</b> {# #}\n  <b>c</b>", "<b>a</b> <b>c</b>"),
        ("some {# #}\n    words", "some words"),
        ('<a href="{# #}\n  {% url x %}">', '<a href="{% url x %}">'),
        ("a{# why #}\nb", "a{# why #}\nb"),
        ("a{# #} b", "a{# #} b"),
    ],
)
def test_an_empty_comment_joins_a_line_with_the_next(
    source: str, compacted: str, is_fragment: bool
) -> None:
    assert compact(source, is_fragment=is_fragment) == compacted


@pytest.mark.parametrize(
    ("source", "compacted"),
    [
        ("<p>\n  <b>x</b>\n</p>", "<p><b>x</b></p>"),
        ("{% if a %}\n  {{ b }}\n{% endif %}", "{% if a %}{{ b }}{% endif %}"),
        ("<p>\n  {# why #}\n  <b></b></p>", "<p>{# why #}<b></b></p>"),
        ("<ul>\r\n\t<li></li>\n\n</ul>", "<ul><li></li></ul>"),
    ],
)
def test_in_a_fragment_line_breaks_between_tags_go(source: str, compacted: str) -> None:
    assert fragment(source) == compacted
    assert compact(source, is_fragment=False) == source


@pytest.mark.parametrize(
    "source",
    [
        "<b>a</b> <b>c</b>",
        "<p>Some\n  words <b>x</b></p>",
        "<p>\n  Words\n</p>",
        "{{ a }} {{ b }}",
        '<a title="two\n  lines">x</a>',
        "<a title='two\n  lines'>x</a>",
        "\n<p></p>\n",
        "<pre>\n  <b>x</b>\n  {{ y }}\n</pre>",
        "<textarea>\n  {% if a %}\n{{ b }}{% endif %}\n</textarea>",
        '<script type="module">\n  if (a < b)\n    c(">")\n</script>',
        "<style>\n  a > b {}\n</style>",
        "1 < 2\n  > 0",
    ],
)
def test_white_space_that_may_matter_stays(source: str) -> None:
    assert fragment(source) == source


def test_tags_around_a_pre_are_compacted() -> None:
    assert fragment("<dd>\n  <pre> {{ a }}\n</pre>\n</dd>") == "<dd><pre> {{ a }}\n</pre></dd>"


def test_what_was_compacted_is_not_changed_again() -> None:
    source = '<p\n class="a">\n  {% if a %}\n  <b>x</b> {# #}\n  y\n  {% endif %}</p>'
    assert fragment(fragment(source)) == fragment(source)


def test_a_long_tag_that_is_never_closed_costs_no_time() -> None:
    source = "<p " + "{\" '" * 20_000
    assert fragment(source) == source


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("chat/fragments/_x.html", "<p><b>1</b></p>\n"),
        ("chat/_x.html", "<p>\n  <b>1</b>\n</p>\n"),
        ("chat/fragments.html", "<p>\n  <b>1</b>\n</p>\n"),
    ],
)
def test_the_loader_knows_a_fragment_by_its_folder(tmp_path: Path, name: str, shown: str) -> None:
    path = tmp_path / "fragments" / name  # a folder above the templates says nothing
    path.parent.mkdir(parents=True)
    path.write_text("<p>\n  <b>{{ a }}</b>\n</p>\n")
    engine = Engine(dirs=[str(tmp_path / "fragments")], loaders=[LOADER])
    assert engine.get_template(name).render(Context({"a": 1})) == shown


def test_a_template_is_compacted_once(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("first")
    engine = Engine(
        dirs=[str(tmp_path)], loaders=[("django.template.loaders.cached.Loader", [LOADER])]
    )
    engine.get_template("x.html")
    path.write_text("second")
    assert engine.get_template("x.html").render(Context()) == "first"
    assert Engine.get_default().loaders[0][0] == "django.template.loaders.cached.Loader"
