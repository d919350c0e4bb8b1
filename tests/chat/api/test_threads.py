"""Threads over the API."""

import pytest
from asgiref.sync import sync_to_async

from agents.models import Membership, Project, Thread, ThreadEntry
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entries
from tests.chat.api.api_client import Caller, refusal

pytestmark = pytest.mark.django_db(transaction=True)


def here(ada: Caller, rest: str = "") -> str:
    return f"projects/{ada.chat.project.pk}/threads{rest}"


@sync_to_async
def fill(project: Project, name: str, count: int) -> None:
    entries = [NewEntry(f"entry {number}") for number in range(1, count + 1)]
    push_entries(project.pk, name, entries, Author.importer())


async def test_an_entry_is_added_read_and_withdrawn(ada: Caller) -> None:
    given = {"content": "We take LFP.", "type": "decision"}
    made = await ada("POST", here(ada, "/power%20supply/entries"), json=given)
    assert made.status_code == 201
    entry = made.json()
    assert (entry["number"], entry["type"], entry["author"]) == (1, "decision", "ada")
    read = (await ada("GET", here(ada, "/Power%20supply"))).json()
    assert read["thread"]["name"] == "power supply"
    assert read["entries"] == [entry]
    assert read["next"] is None
    gone = await ada("DELETE", here(ada, "/power%20supply/entries/1"))
    assert gone.status_code == 204
    (entry,) = (await ada("GET", here(ada, "/power%20supply"))).json()["entries"]
    assert entry["content"] is None
    assert entry["withdrawn_at"] is not None


async def test_threads_are_listed_by_status_and_archived(ada: Caller) -> None:
    for name in ("one", "two", "three"):
        await fill(ada.chat.project, name, 1)
    changed = await ada("PATCH", here(ada, "/one"), json={"status": "archived"})
    assert changed.json()["status"] == "archived"
    listed = (await ada("GET", here(ada))).json()
    assert [each["name"] for each in listed["threads"]] == ["three", "two"]
    page = (await ada("GET", here(ada), params={"status": "all", "limit": 1, "offset": 2})).json()
    assert ([each["name"] for each in page["threads"]], page["total"]) == (["one"], 3)
    told = refusal(await ada("POST", here(ada, "/one/entries"), json={"content": "x"}), 409)
    assert "archived" in str(told)
    assert (await ada("PATCH", here(ada, "/one"), json={"status": "active"})).status_code == 200


async def test_entries_are_read_a_page_at_a_time(ada: Caller) -> None:
    await fill(ada.chat.project, "power", 25)
    numbers: list[int] = []
    before: int | None = None
    while True:
        params = {"limit": 10} | ({"before": before} if before else {})
        page = (await ada("GET", here(ada, "/power"), params=params)).json()
        numbers += [entry["number"] for entry in page["entries"]]
        before = page["next"]
        if before is None:
            break
    assert numbers == list(range(25, 0, -1))


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("power", {"content": ""}),
        ("power", {"content": "  "}),
        ("power", {"content": "x", "type": "wish"}),
        ("power", {"content": "x", "more": 1}),
        ("power", {"content": "ä" * 32_770}),
        ("a%23b", {"content": "x"}),
        ("..%20", {"content": "x"}),
        ("a%0Ab", {"content": "x"}),
    ],
)
async def test_what_cannot_be_kept_is_refused(
    ada: Caller, name: str, body: dict[str, object]
) -> None:
    answer = await ada("POST", here(ada, f"/{name}/entries"), json=body)
    assert answer.status_code in (404, 413, 422)
    assert not await Thread.objects.aexists()


async def test_what_is_not_there_is_not_found(ada: Caller) -> None:
    refusal(await ada("GET", here(ada, "/none")), 404)
    refusal(await ada("PATCH", here(ada, "/none"), json={"status": "active"}), 404)
    await fill(ada.chat.project, "power", 1)
    refusal(await ada("DELETE", here(ada, "/power/entries/9")), 404)


async def test_writing_needs_its_own_scope(ada: Caller) -> None:
    await fill(ada.chat.project, "power", 1)
    less = await ada.as_scopes("ask", "read")
    assert (await less("GET", here(ada, "/power"))).status_code == 200
    refusal(await less("POST", here(ada, "/power/entries"), json={"content": "x"}), 403)


async def test_an_entry_of_somebody_else_is_an_owners_to_withdraw(ada: Caller) -> None:
    await fill(ada.chat.project, "power", 1)
    members = Membership.objects.filter(project=ada.chat.project)
    await members.aupdate(role=Membership.Role.MEMBER)
    refusal(await ada("DELETE", here(ada, "/power/entries/1")), 403)
    await members.aupdate(role=Membership.Role.OWNER)
    assert (await ada("DELETE", here(ada, "/power/entries/1"))).status_code == 204
    assert await ThreadEntry.objects.filter(withdrawn_at__isnull=False).acount() == 1
