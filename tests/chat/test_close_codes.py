"""What a page says after a socket was closed for good."""

from pathlib import Path

import pytest
from django.test import Client

from chat import close_codes
from tests.chat.factories import Talk
from tests.support.pages import Page

DOCS = Path(__file__).parents[2] / "docs/chat.md"
CODES = {name: code for name, code in vars(close_codes).items() if isinstance(code, int)}


@pytest.mark.django_db
def test_a_page_has_the_sentence_of_each_code_after_which_it_stays_away() -> None:
    talk = Talk("Why is the sea salt?")
    client = Client()
    client.force_login(talk.user)
    page = Page(client.get(f"/c/{talk.id}/", secure=True).content.decode())
    (label,) = [at for at in page.all("span") if at.get("id") == "connection"]
    shown = {name: text for name, text in label.items() if name.startswith("data-4")}
    assert shown == {f"data-{code}": text for code, text in close_codes.SENTENCES.items()}
    assert shown["data-4401"] == "Signed out"


@pytest.mark.parametrize("name", CODES)
def test_each_code_is_documented(name: str) -> None:
    assert str(CODES[name]) in DOCS.read_text()
