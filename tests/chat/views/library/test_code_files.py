"""The pages of folders and files of code."""

import pytest

from chat.library import code_page
from chat.views.library import code_files
from tests.chat.views.library.conftest import Shelf
from tests.support.code import GAUGE, GAUGE_SYMBOLS, add_checkout, add_code, add_gauge
from tests.support.pages import Page, problems


def links(html: str) -> list[str]:
    assert problems(html) == []
    return [a["href"] for a in Page(html).all("a")]


def test_a_project_without_code_says_how_to_bring_some(shelf: Shelf) -> None:
    html = shelf.ada.get(shelf.address("code/")).content.decode()
    assert shelf.address("code/upload/") in links(html)
    assert "no code in this project yet" in html
    assert "Upload code" not in shelf.rea.get(shelf.address("code/")).content.decode()


def test_a_folder_lists_what_lies_directly_in_it(shelf: Shelf) -> None:
    for path in ("src/gauge/reader.py", "src/gauge/log.py", "src/main.py", "src0.py", "srca/x.py"):
        add_code(shelf.project, path, "x = 1\n")
    top = shelf.ada.get(shelf.address("code/")).content.decode()
    assert {"?folder=src", "?folder=srca", shelf.address("code/files/src0.py")} <= set(links(top))
    assert "3 files" in top
    inner = shelf.rea.get(shelf.address("code/?folder=src")).content.decode()
    assert "?folder=src%2Fgauge" in links(inner)
    assert shelf.address("code/files/src/main.py") in links(inner)
    assert "srca" not in inner
    assert "reader.py" not in inner


def test_a_folder_of_odd_signs_is_a_folder_as_any(shelf: Shelf) -> None:
    for path in ("a%b_c/x.py", "aXb_c/y.py", "a%bXc/z.py", "A%b_c/w.py", "ä/ö/ü.py"):
        add_code(shelf.project, path)
    html = shelf.ada.get(shelf.address("code/"), {"folder": "a%b_c"}).content.decode()
    files = [link for link in links(html) if "code/files/" in link]
    assert files == [shelf.address("code/files/a%25b_c/x.py")]
    deep = shelf.ada.get(shelf.address("code/"), {"folder": "ä"}).content.decode()
    assert "?folder=%C3%A4%2F%C3%B6" in links(deep)


@pytest.mark.parametrize("page", ["1", "2", "3", "99", "x", ""])
def test_many_files_are_shown_a_page_at_a_time(
    shelf: Shelf, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_files, "PAGE_SIZE", 4)
    for number in range(10):
        add_code(shelf.project, f"{'d/' if number < 3 else ''}f{number}.py")
    html = shelf.ada.get(shelf.address("code/"), {"page": page}).content.decode()
    listed = [link for link in links(html) if "code/files/" in link or "folder=" in link]
    assert len(listed) in (4, 0)
    everything = {
        link
        for number in (1, 2)
        for link in links(shelf.ada.get(shelf.address("code/"), {"page": number}).content.decode())
        if "code/files/" in link or "folder=" in link
    }
    assert len(everything) == 8


def test_a_file_has_a_line_for_every_line_and_its_names_beside_it(shelf: Shelf) -> None:
    add_gauge(shelf.project)
    html = shelf.rea.get(shelf.address("code/files/src/gauge.py")).content.decode()
    assert {"#L1", "#L2", shelf.address("code/names/") + "?name=Gauge.read"} <= set(links(html))
    page = Page(html)
    assert [li["id"] for li in page.all("li") if li.get("id", "").startswith("L")] == [
        f"L{number}" for number in range(1, 7)
    ]
    assert '<span class="k">class</span>' in html


def test_a_long_file_is_shown_in_stretches(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_page, "PAGE_LINES", 10)
    symbols = [GAUGE_SYMBOLS[0]._replace(line=25, end_line=25)]
    add_code(shelf.project, "long.py", "".join(f"x{n} = {n}\n" for n in range(1, 31)), symbols)
    html = shelf.ada.get(shelf.address("code/files/long.py?line=15")).content.decode()
    assert 'id="L11"' in html
    assert 'id="L20"' in html
    assert 'id="L21"' not in html
    assert {"?line=1", "?line=21", "?line=25#L25"} <= set(links(html))


@pytest.mark.parametrize("line", ["0", "-3", "x", "999999999999", "1e9", ""])
def test_any_line_can_be_asked_for(shelf: Shelf, line: str) -> None:
    add_code(shelf.project, "a.py", "x\n")
    assert shelf.ada.get(shelf.address("code/files/a.py"), {"line": line}).status_code == 200


def test_lines_of_megabytes_are_cut(shelf: Shelf) -> None:
    add_code(shelf.project, "min.js", "f()." * 250_000 + "\nend\n")
    response = shelf.ada.get(shelf.address("code/files/min.js"))
    assert len(response.content) < 30_000
    assert "998,000 more characters" in response.content.decode()


@pytest.mark.parametrize("text", ["", "\n", "\r\n", "a\rb", "\t\n" * 50, "\ufeffx", "'''\n" * 9])
def test_odd_texts_are_shown(shelf: Shelf, text: str) -> None:
    add_code(shelf.project, "odd.py", text)
    html = shelf.ada.get(shelf.address("code/files/odd.py")).content.decode()
    assert problems(html) == []


def test_code_that_is_cited_is_found_by_the_id_of_its_project(shelf: Shelf) -> None:
    add_code(shelf.project, "src/gauge.py", GAUGE)
    cited = f"/code/{shelf.project.pk}/src/gauge.py"
    assert 'id="L2"' in shelf.rea.get(cited).content.decode()
    assert shelf.eve.get(cited).status_code == 404
    assert shelf.ada.get(f"/code/{shelf.project.pk}/nothing.py").status_code == 404


def test_a_cited_path_that_is_a_file_beside_the_notes_leads_there(shelf: Shelf) -> None:
    response = shelf.ada.get(f"/code/{shelf.project.pk}/plan.pdf")
    assert response["Location"] == shelf.address("files/plan.pdf")


def test_a_cited_readme_of_the_code_is_found_where_notes_are(shelf: Shelf) -> None:
    add_code(shelf.project, "src/README.md", "# Code\n")
    response = shelf.ada.get(f"/notes/{shelf.project.pk}/src/README.md")
    assert response["Location"] == f"/code/{shelf.project.pk}/src/README.md"


def test_checkouts_are_named_at_the_top(shelf: Shelf) -> None:
    add_code(shelf.project, "a.py")
    checkout = add_checkout(shelf.project)
    html = shelf.ada.get(shelf.address("code/")).content.decode()
    assert shelf.address(f"code/checkouts/{checkout.pk}/") in links(html)
