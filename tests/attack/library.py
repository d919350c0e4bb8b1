"""Notes, threads and code of which there is far more than a page can show."""

import io
import zipfile
from collections.abc import Callable
from uuid import UUID

import httpx

from tests.attack.scene import Attack, Scene
from tests.attack.target import Somebody, Target

LINES = 64_000
ONE_LINE_ENTRY = "<!-- entry {number} thought 2026-01-01T00:00:00+00:00 1 lines -->\n{text}\n\n"
Files = dict[str, str]


def make_backlinks() -> Files:
    """Notes that link to one note as often as they can, in one way or in many."""
    same = {f"same {number}.md": "[[target]]\n" * LINES for number in range(4)}
    ways = "".join(f"[[target#{number}]]\n" for number in range(LINES))
    folders = "".join(f"[[{number}/target]]\n" for number in range(LINES // 2))
    return {**same, "ways.md": ways, "folders.md": folders, "target.md": "# Target\n"}


def make_embeds() -> Files:
    """A note that shows itself, and one that shows notes of which there are many of its name."""
    names = {f"{number}/name.md": "Here.\n" for number in range(300)}
    shown = "".join(f"![[name#{number}]]\n\n" for number in range(20_000))
    return {**names, "itself.md": "![[itself]]\n\n" * 60_000, "names.md": shown}


def make_tags() -> Files:
    """Notes of nothing but tags: different ones, nested ones, in one line and in properties."""
    different = "".join(f"#t{number} " for number in range(110_000))
    nested = "".join(f"#{'a/' * 90}{number} " for number in range(4_000))
    listed = ", ".join(f"t{number}" for number in range(60_000))
    return {"line.md": different, "nested.md": nested, "listed.md": f"---\ntags: [{listed}]\n---\n"}


def make_properties() -> Files:
    """Notes with more properties and other names than anybody needs, and links to those names."""
    many = "".join(f"p{number}: '[[x]]'\n" for number in range(50_000))
    listed = ", ".join(f"n{number}" for number in range(60_000))
    links = "".join(f"[[n{number}]]\n" for number in range(60_000))
    return {
        "many.md": f"---\n{many}---\n",
        "names.md": f"---\naliases: [{listed}]\n---\n",
        "links.md": links,
    }


def make_headings() -> Files:
    """Headings below headings, and a note that shows what is below the last of them."""
    nested = "".join(f"{'#' * (1 + number % 6)} h\n" for number in range(100_000))
    shown = "".join(f"![[nested#h#h#{number}#h]]\n\n" for number in range(20))
    return {"nested.md": nested, "shown.md": shown}


def make_folders() -> Files:
    """Folders in folders, and as many side by side."""
    deep = {f"{'f/' * number}note.md": "x" for number in range(1, 40)}
    return {**deep, **{f"wide/{number}/note.md": "x" for number in range(1_500)}}


def make_thread() -> Files:
    """A thread of many entries, each as dear to show as one line can be."""
    entries = [
        ONE_LINE_ENTRY.format(number=number, text=f"{'[' * 300}{number}")
        for number in range(1, 500)
    ]
    return {"thread.md": f'---\noracle-thread: "dear"\nstatus: active\n---\n\n{"".join(entries)}'}


def make_code() -> Files:
    """A file of very many names, and folders in folders."""
    names = "".join(f"def f{number}():\n    return f{number + 1}()\n" for number in range(15_000))
    return {"names.py": names, **{f"{'f/' * number}a.py": "x = 1\n" for number in range(1, 40)}}


SHELVES: dict[str, tuple[Callable[[], Files], tuple[str, ...]]] = {
    "backlinks": (make_backlinks, ("notes/target.md", "notes/ways.md")),
    "embeds": (make_embeds, ("notes/itself.md", "notes/names.md")),
    "tags": (make_tags, ("notes/line.md", "notes/nested.md", "notes/listed.md", "tags/")),
    "properties": (make_properties, ("notes/many.md", "notes/names.md", "notes/links.md")),
    "headings": (make_headings, ("notes/nested.md", "notes/shown.md")),
    "folders": (make_folders, ("", "?folder=wide", f"?folder={'f/' * 20}f")),
    "thread": (make_thread, ("threads/", "threads/dear/", "threads/dear/?page=3")),
    "outlines": (
        make_code,
        (
            "code/",
            "code/map/",
            "code/files/names.py",
            "code/names/?name=f7",
            f"code/?folder={'f/' * 20}f",
        ),
    ),
}
"""By name of the attack: what is there, and the pages that show it."""


def pack(files: Files) -> bytes:
    """Return a zip of these files. Each is small enough to be unpacked whatever it packs to."""
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return stored.getvalue()


def find_address(target: Target, mallory: Somebody) -> str:
    project = UUID(mallory.project).hex
    query = f"SELECT slug FROM agents_project WHERE id = '{project}'"  # noqa: S608  # hexadecimal
    return f"/library/{target.rows.query(query)[0][0]}/"


async def fill_shelf(name: str, target: Target, mallory: Somebody) -> None:
    """Upload what an attack opens, before it begins."""
    make, _ = SHELVES[name]
    place = find_address(target, mallory) + ("code/upload/" if name == "outlines" else "upload/")
    files = {"files": ("shelf.zip", pack(make()))}
    async with target.client(mallory) as http:
        answer = await http.post(place, files=files, timeout=300)
    assert answer.status_code < 400, answer.text[:2_000]


def open_pages(name: str) -> Attack:
    """Return an attack: many open the pages of one shelf at once, again and again."""

    async def attack(scene: Scene) -> None:
        address = find_address(scene.target, scene.mallory)
        _, pages = SHELVES[name]
        async with scene.target.client(scene.mallory) as http:

            async def act() -> None:
                answer = await http.get(address + scene.rng.choice(pages))
                scene.look_at(answer)
                if answer.status_code not in (httpx.codes.OK, httpx.codes.TOO_MANY_REQUESTS):
                    scene.broken.append(f"{answer.url} is answered with {answer.status_code}")

            await scene.together(act)

    return attack
