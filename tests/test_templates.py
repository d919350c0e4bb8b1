"""How templates are written, named and placed."""

import re
from pathlib import Path

from django.template import Engine

from agents.extensions import CARD_TEMPLATE
from agents.tools.registry import TOOLS
from agents.web.template_loader import compact

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "templates"
TEMPLATES = {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.rglob("*.html")}
FRAGMENTS = sorted(name for name in TEMPLATES if "fragments" in name.split("/"))
LONGEST_LINE = 200

# Found by their names: error pages by Django's handlers, those of the admin by its own lookup.
BY_NAME = re.compile(r"(\d+|403_csrf)\.html|admin/(agents/\w+/)?(base_site|change_list)\.html")


def test_no_line_of_a_template_is_too_long_to_read() -> None:
    lines = ((name, line) for name in TEMPLATES for line in TEMPLATES[name].read_text().split("\n"))
    assert [(name, line) for name, line in lines if len(line) > LONGEST_LINE] == []


def test_every_template_compiles() -> None:
    engine = Engine.get_default()
    assert [name for name in TEMPLATES if not engine.get_template(name).nodelist] == []


def spellings(name: str) -> list[str]:
    """How code may name a template: in full, below a constant, or by a short name of the chat."""
    short = re.sub(r"chat/fragments/_(\w+)\.html", r'"\1"', name)
    return [f'"{name}"', f"}}/{name.rpartition('/')[2]}", *([short] if short != name else [])]


def test_every_template_is_used() -> None:
    folders = ("agents", "chat", "settings_ui", "oracle_site")
    paths = [*TEMPLATES.values(), *(p for each in folders for p in (ROOT / each).rglob("*.py"))]
    sources = "".join(path.read_text() for path in paths)
    cards = {CARD_TEMPLATE.format(tool=name) for name in TOOLS.names()}
    named = {name for name in TEMPLATES if any(each in sources for each in spellings(name))}
    unused = TEMPLATES.keys() - named - cards
    assert sorted(name for name in unused if not BY_NAME.fullmatch(name)) == []


def test_a_part_is_told_from_a_page_by_its_name() -> None:
    extends = {name for name, path in TEMPLATES.items() if "{% extends " in path.read_text()}
    parts = {name for name in TEMPLATES if name.rpartition("/")[2].startswith("_")}
    assert parts & extends == set()
    assert TEMPLATES.keys() - parts - extends == {"base.html"}


def test_pages_and_parts_are_told_apart_by_their_folders() -> None:
    in_folder = {
        folder: [name for name in TEMPLATES if name.split("/")[-2:-1] == [folder]]
        for folder in ("pages", "partials", "fragments")
    }
    assert all(in_folder.values())
    for folder, names in in_folder.items():
        assert {name.rpartition("/")[2].startswith("_") for name in names} == {folder != "pages"}


def test_a_fragment_is_sent_without_the_line_breaks_of_its_source() -> None:
    sent = {name: compact(TEMPLATES[name].read_text(), is_fragment=True) for name in FRAGMENTS}
    assert [name for name, text in sent.items() if "\n" in text.strip()] == []
