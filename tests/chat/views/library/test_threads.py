"""Pages of threads: the list, a thread with its entries, writing, archiving, withdrawing."""

from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from agents.core.chunks import SourceRef
from agents.models import Membership, Thread, ThreadEntry
from agents.vault.author import Author
from agents.vault.threads import NewEntry, get_thread, push_entries, push_entry, set_status
from chat.rendering.source_links import get_address
from tests.chat.factories import browser
from tests.chat.views.library.conftest import Shelf
from tests.support.pages import Page, problems

HTMX = {"HX-Request": "true"}


def push(shelf: Shelf, name: str, *texts: str, by: str = "ada") -> None:
    entries = [NewEntry(text, "decision") for text in texts]
    author = Author.person(User.objects.get(username=by).pk)
    push_entries(shelf.project.pk, name, entries, author)


def read(shelf: Shelf, rest: str) -> str:
    response = shelf.ada.get(shelf.address(rest))
    assert response.status_code == 200
    html = response.content.decode()
    assert problems(html) == []
    return str(html)


def list_anchors(html: str) -> list[str]:
    return [each["id"] for each in Page(html).all("li") if each.get("id", "").startswith("entry-")]


def test_a_project_without_threads_says_how_to_begin(shelf: Shelf) -> None:
    assert "no threads in this project yet" in read(shelf, "threads/")
    html = shelf.rea.get(shelf.address("threads/")).content.decode()
    assert "New thread" not in html


def test_the_list_has_active_threads_newest_first_and_archived_ones_apart(shelf: Shelf) -> None:
    for name in ("old", "power supply", "radio"):
        push(shelf, name, "x")
    set_status(shelf.project.pk, "old", Thread.Status.ARCHIVED)
    html = read(shelf, "threads/")
    assert html.index(">radio<") < html.index(">power supply<")
    assert ">old<" not in html
    assert ">old<" in read(shelf, "threads/?status=archived")
    filtered = read(shelf, "threads/?name=POWER")
    assert ">power supply<" in filtered
    assert ">radio<" not in filtered
    assert "No active threads have" in read(shelf, "threads/?name=zeppelin%25_")


def test_a_thread_begins_with_its_first_entry(shelf: Shelf) -> None:
    assert problems(shelf.ada.get(shelf.address("new-thread/")).content.decode()) == []
    given = {"name": "Power & light?", "text": "We take *LFP*.", "kind": "decision"}
    response = shelf.ada.post(shelf.address("new-thread/"), given)
    assert response["Location"] == shelf.address(f"threads/{quote('Power & light?', safe='&')}/")
    html = shelf.ada.get(response["Location"]).content.decode()
    assert Page(html).text("h1") == "Power & light?"
    assert "We take <em>LFP</em>." in html
    assert "Decision" in html
    assert "ada" in html


def test_what_cannot_be_a_thread_stays_in_the_form_with_the_reason(shelf: Shelf) -> None:
    given = {"name": "a/b", "text": "Kept <b>text</b>", "kind": "insight"}
    response = shelf.ada.post(shelf.address("new-thread/"), given)
    html = response.content.decode()
    assert response.status_code == 422
    assert problems(html) == []
    assert "pass a name without" in html
    assert "Kept &lt;b&gt;text&lt;/b&gt;" in html
    assert not Thread.objects.exists()


def test_an_entry_is_added_in_place(shelf: Shelf) -> None:
    push(shelf, "power", "one")
    there = shelf.address("threads/power/push/")
    given = {"text": "two", "kind": "research"}
    html = shelf.ada.post(there, given, headers=HTMX).content.decode()
    assert list_anchors(html) == ["entry-2", "entry-1"]
    assert "<html" not in html
    assert "Added." in html
    plain = shelf.ada.post(there, given)
    assert plain["Location"] == shelf.address("threads/power/")


@pytest.mark.parametrize("headers", [HTMX, {}])
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"text": "  ", "kind": "thought"}, "empty"),
        ({"text": "kept", "kind": "wish"}, "is not a type"),
        ({"text": "kept" + "x" * 70_000, "kind": "thought"}, "65,536 bytes"),
    ],
)
def test_an_entry_that_cannot_be_taken_stays_in_the_form(
    shelf: Shelf, headers: dict[str, str], given: dict[str, str], why: str
) -> None:
    push(shelf, "power", "one")
    response = shelf.ada.post(shelf.address("threads/power/push/"), given, headers=headers)
    html = response.content.decode()
    assert response.status_code == 422
    assert why in html
    assert given["text"] in html
    assert ThreadEntry.objects.count() == 1


def test_a_thread_is_archived_and_takes_no_entry_until_it_is_reactivated(shelf: Shelf) -> None:
    push(shelf, "power", "one")
    there = shelf.address("threads/power/")
    shelf.ada.post(f"{there}status/", {"status": "archived"})
    html = read(shelf, "threads/power/")
    assert "takes no entries until it is reactivated" in html
    assert "Add entry" not in html
    refused = shelf.ada.post(f"{there}push/", {"text": "two", "kind": "thought"})
    assert refused.status_code == 422
    assert "is archived" in refused.content.decode()
    shelf.ada.post(f"{there}status/", {"status": "active"})
    assert "Add entry" in read(shelf, "threads/power/")


def test_entries_are_a_page_at_a_time_and_an_address_leads_to_one(shelf: Shelf) -> None:
    push(shelf, "power", *(f"entry {number}" for number in range(1, 61)))
    assert list_anchors(read(shelf, "threads/power/"))[0] == "entry-60"
    assert list_anchors(read(shelf, "threads/power/?page=3"))[-1] == "entry-1"
    assert "entry-3" in list_anchors(read(shelf, "threads/power/?entry=3"))
    cited = shelf.ada.get(f"/threads/{shelf.project.pk}/power?entry=3").content.decode()
    assert "entry-3" in list_anchors(cited)
    for odd in ("?entry=0", "?entry=999", "?entry=x", "?page=-1", "?page=x", "?entry=" + "9" * 40):
        assert list_anchors(read(shelf, f"threads/power/{odd}"))


def test_a_withdrawn_entry_keeps_its_place_without_its_text(shelf: Shelf) -> None:
    push(shelf, "power", "one", "zeppelin")
    there = shelf.address("threads/power/withdraw/2/")
    response = shelf.ada.post(there)
    assert response["Location"] == shelf.address("threads/power/?entry=2#entry-2")
    html = read(shelf, "threads/power/")
    assert list_anchors(html) == ["entry-2", "entry-1"]
    assert "zeppelin" not in html
    assert "Withdrawn by ada on" in html
    assert shelf.ada.post(there).status_code == 302
    assert shelf.ada.post(shelf.address("threads/power/withdraw/9/")).status_code == 404


def test_a_member_withdraws_their_own_entries_and_an_owner_any(shelf: Shelf) -> None:
    Membership.objects.filter(user__username="ada").update(role=Membership.Role.OWNER)
    mo = User.objects.create_user("mo")
    Membership.objects.create(project=shelf.project, user=mo, role=Membership.Role.MEMBER)
    push(shelf, "power", "of ada")
    push(shelf, "power", "of mo", "of mo too", by="mo")
    page = browser(mo)
    html = page.get(shelf.address("threads/power/")).content.decode()
    assert "withdraw/2/" in html
    assert "withdraw/1/" not in html
    assert page.post(shelf.address("threads/power/withdraw/1/")).status_code == 403
    assert page.post(shelf.address("threads/power/withdraw/2/")).status_code == 302
    assert shelf.ada.post(shelf.address("threads/power/withdraw/3/")).status_code == 302
    standing = ThreadEntry.objects.filter(withdrawn_at=None)
    assert list(standing.values_list("text", flat=True)) == ["of ada"]


def test_a_reader_reads_and_writes_nothing(shelf: Shelf) -> None:
    push(shelf, "power", "one")
    html = shelf.rea.get(shelf.address("threads/power/")).content.decode()
    assert "one" in html
    for words in ("Add entry", "Withdraw", "Archive<"):
        assert words not in html
    assert shelf.eve.get(shelf.address("threads/power/")).status_code == 404


def test_the_name_of_somebody_deleted_is_not_shown(shelf: Shelf) -> None:
    mo = User.objects.create_user("moritz")
    push(shelf, "power", "of somebody", by="moritz")
    mo.delete()
    html = read(shelf, "threads/power/")
    assert "of somebody" in html
    assert "moritz" not in html


HOSTILE = "<img src=x onerror=alert(1)> &amp; {{ 7*7 }} \"'"


def test_no_name_and_no_text_becomes_part_of_the_page(shelf: Shelf) -> None:
    text = f"{HOSTILE}\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![x](http://e.x/)"
    push(shelf, HOSTILE, text)
    name = get_thread(shelf.project.pk, HOSTILE).name
    for rest in ("threads/", f"threads/{quote(name, safe='')}/", f"threads/?name={quote(HOSTILE)}"):
        html = read(shelf, rest)
        page = Page(html)
        assert not [a for a in page.all("a") if a["href"].startswith("javascript")]
        assert not page.all("img")
        assert "<script>alert" not in html
        assert "{{ 7*7 }}" in html


def test_what_an_entry_cites_is_linked(shelf: Shelf) -> None:
    push(shelf, "power", "See [plan/road map.md:3] and [thread:power supply#12].")
    links = [a["href"] for a in Page(read(shelf, "threads/power/")).all("a")]
    assert f"/notes/{shelf.project.pk}/plan/road%20map.md#L3" in links
    assert f"/threads/{shelf.project.pk}/power%20supply?entry=12#entry-12" in links


def test_times_are_those_of_the_entries(shelf: Shelf) -> None:
    at = datetime(2026, 2, 26, 9, 30, tzinfo=UTC)
    push_entry(shelf.project.pk, "power", NewEntry("x", at=at), Author.importer())
    html = read(shelf, "threads/power/")
    assert "26 Feb 2026, 09:30 UTC" in html
    assert "imported" in html


def test_a_thread_whose_old_name_has_marks_of_direction_is_found_by_its_link(shelf: Shelf) -> None:
    push(shelf, "live", "We take LFP.")
    name = "\u202elive"
    Thread.objects.update(name=name)  # as names were kept once
    address = get_address(shelf.project.pk, SourceRef(name, "thread", 1))
    assert address is not None
    assert "We take LFP." in shelf.ada.get(address).content.decode()
