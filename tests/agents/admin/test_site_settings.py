"""The site's settings in the admin: which hosts models may read, checked before it is stored."""

import pytest
from django.test import Client

from agents.models import AuditEntry, SiteSettings
from tests.agents.admin.test_projects import administrator

pytestmark = pytest.mark.django_db
ADDRESS = "/admin/agents/sitesettings/1/change/"


def save(root: Client, web_hosts: str) -> str:
    """The page that the form leads to."""
    SiteSettings.objects.get_or_create(pk=1)
    answer = root.post(ADDRESS, {"default_role": "member", "web_hosts": web_hosts}, follow=True)
    return answer.content.decode()


def test_hosts_are_stored_once_each_and_it_is_recorded() -> None:
    save(administrator(), " Docs.example.org\r\n\r\n*.wiki.example\r\ndocs.example.org ")
    assert SiteSettings.load().web_hosts == "*.wiki.example\ndocs.example.org"
    detail = AuditEntry.objects.filter(verb="site").get().detail
    assert detail["web_hosts"] == "*.wiki.example, docs.example.org"


def test_no_hosts_switch_the_tool_off() -> None:
    root = administrator()
    save(root, "docs.example.org")
    save(root, "")
    assert SiteSettings.load().web_hosts == ""
    assert AuditEntry.objects.filter(verb="site").latest("pk").detail["web_hosts"] == "none"


@pytest.mark.parametrize("line", ["https://docs.example.org/", "10.0.0.1", "localhost", "*.org"])
def test_a_line_that_is_no_host_is_not_stored_and_the_page_says_why(line: str) -> None:
    page = save(administrator(), f"docs.example.org\n{line}")
    assert f"&#x27;{line}&#x27; " in page
    assert SiteSettings.load().web_hosts == ""
    assert not AuditEntry.objects.filter(verb="site").exists()
