"""Code over the API."""

from pathlib import Path
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from tests.chat.api.api_client import Caller, refusal
from tests.support.code import PAYLOAD_FILE, add_gauge, import_payloads
from tests.support.hostile import OURS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def here(ada: Caller) -> str:
    await sync_to_async(add_gauge)(ada.chat.project)
    return f"projects/{ada.chat.project.pk}/code"


async def test_code_is_searched(ada: Caller, here: str) -> None:
    found = (await ada("GET", f"{here}/search", params={"q": "level zebra"})).json()
    [hit] = found["hits"]
    assert (hit["path"], hit["line"]) == ("src/gauge.py", 6)
    assert found["missing_words"] == ["zebra"]


async def test_lines_of_a_file_are_sent(ada: Caller, here: str) -> None:
    given = {"path": "src/gauge.py", "first": 2, "count": 2}
    file = (await ada("GET", f"{here}/file", params=given)).json()
    assert file["lines"] == ["    def read(self) -> float:", "        return 1.0"]
    assert (file["line_count"], file["reading"]) == (6, "parsed")
    refusal(await ada("GET", f"{here}/file", params={"path": "nothing.py"}), 404)


async def test_names_are_found_where_they_are_defined_and_used(ada: Caller, here: str) -> None:
    found = (await ada("GET", f"{here}/definitions", params={"symbol": "Gauge.read"})).json()
    assert [each["line"] for each in found["definitions"]] == [2]
    uses = (await ada("GET", f"{here}/references", params={"symbol": "Gauge"})).json()
    assert [(use["line"], use["certainty"]) for use in uses["references"]] == [(6, "certain")]


async def test_names_that_are_payloads_are_sent_as_they_are_and_as_json(
    ada: Caller, tmp_path: Path
) -> None:
    names = await sync_to_async(import_payloads)(ada.chat.project, tmp_path, OURS[:4])
    here = f"projects/{ada.chat.project.pk}/code"
    for name in names:
        for what in ("definitions", "references"):
            answer = await ada("GET", f"{here}/{what}", params={"symbol": name})
            assert answer.headers["content-type"].startswith("application/json")
            assert answer.headers["x-content-type-options"] == "nosniff"
            [found] = answer.json()["definitions"]
            assert (found["name"], found["path"]) == (name, PAYLOAD_FILE)


async def test_a_map_is_sent(ada: Caller, here: str) -> None:
    found = (await ada("GET", f"{here}/map", params={"max_tokens": 500})).json()
    assert [file["path"] for file in found["files"]] == ["src/gauge.py"]
    assert found["definition_count"] == 2


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("search", {}),
        ("search", {"q": ""}),
        ("search", {"q": "a", "limit": 21}),
        ("references", {"symbol": "a", "limit": 51}),
        ("map", {"max_tokens": 9_000}),
        ("file", {"path": "a\0b"}),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    ada: Caller, here: str, what: str, given: dict[str, object]
) -> None:
    refusal(await ada("GET", f"{here}/{what}", params=given), 422)


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("search", {"q": "a", "language": "klingon"}),
        ("definitions", {"symbol": "..."}),
        ("definitions", {"symbol": "a", "scope": "../x"}),
    ],
)
async def test_what_cannot_be_there_is_not_found(
    ada: Caller, here: str, what: str, given: dict[str, object]
) -> None:
    refusal(await ada("GET", f"{here}/{what}", params=given), 404)


async def test_code_of_another_project_is_not_there(ada: Caller, here: str) -> None:
    for what in ("search?q=a", "file?path=a", "definitions?symbol=a", "references?symbol=a", "map"):
        refusal(await ada("GET", f"projects/{uuid4()}/code/{what}"), 404)
